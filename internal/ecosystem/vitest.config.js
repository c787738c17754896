import { defineConfig } from 'vitest/config'
import { SHARED } from '../../tools/vitest.mjs'

export default defineConfig({
  // @weir/nest takes these from here, as those of its own folder know no Fastify.
  resolve: { dedupe: ['@nestjs/common', '@nestjs/core'] },
  test: {
    ...SHARED,
    projects: [
      {
        extends: true,
        test: {
          name: 'migration',
          setupFiles: [...SHARED.setupFiles, 'migration/clock.ts'],
          include: ['migration/*.test.ts'],
        },
      },
      {
        step: 'majors',
        extends: true,
        test: { name: 'serverless', include: ['serverless/*.test.ts'] },
      },
    ],
  },
})
