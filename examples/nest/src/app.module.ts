import { Module } from '@nestjs/common'
import { RateLimitModule, slidingLog } from '@weir/nest'
import { LoginController } from './login.controller.js'
import { LoginService } from './login.service.js'
import { ReportsController } from './reports.controller.js'

@Module({
  imports: [
    RateLimitModule.forRoot({
      // The default policy: all handlers together, for each address.
      limit: 100,
      window: '1m',
      policies: { login: slidingLog({ limit: 5, window: '15m' }) },
    }),
  ],
  controllers: [ReportsController, LoginController],
  providers: [LoginService],
})
export class AppModule {}
