// Summarizes the tests of several packages: reads the output of vitest and turbo, and ends with one
// summary, with commands that run only what failed.

const COLOUR = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g')
/** A line of a package, as turbo prefixes it. */
const OF_PACKAGE = /^(\S+):test: (.*)$/
const COUNTS = /^ *Tests {2}.*?\d/
const FAILED = /^ FAIL +(?:\S+ +)?(\S+\.test\.\w+)(?: > (.*)| \[ .* \])?$/
/** A line of turbo with the tasks that failed, such as `@weir/koa#build`. */
const TASKS = /^ *Failed: +(.*)$/

export function newSummary() {
  const packages = new Map()
  const tasks = []

  function of(name) {
    const known = packages.get(name) ?? { passed: 0, failed: 0, skipped: 0, failures: new Map() }
    packages.set(name, known)
    return known
  }

  return {
    read(raw) {
      const line = raw.replace(COLOUR, '')
      const failed = TASKS.exec(line)
      if (failed !== null) tasks.push(...failed[1].split(', '))
      const [, name, text] = OF_PACKAGE.exec(line) ?? []
      if (name === undefined) return
      if (COUNTS.test(text))
        for (const [, count, outcome] of text.matchAll(/(\d+) (passed|failed|skipped)/g))
          of(name)[outcome] += Number(count)
      const [, file, title] = FAILED.exec(text) ?? []
      if (file === undefined) return
      const titles = of(name).failures.get(file) ?? new Set()
      of(name).failures.set(file, titles.add(title ?? 'could not be run'))
    },
    lines({ code, tookMs, folderOf }) {
      const all = [...packages]
      const sum = (key) => all.reduce((total, [, each]) => total + each[key], 0)
      const seconds = `${Math.round(tookMs / 1_000)} s`
      const skipped = sum('skipped') > 0 ? `, ${counted(sum('skipped'))} skipped` : ''
      const many = all.length === 1 ? 'package' : 'packages'
      const passed = `${tests(sum('passed'))} of ${all.length} ${many} passed${skipped}`
      if (code === 0) return [`${passed}, in ${seconds}`]
      const broken = all.filter(([, { failures }]) => failures.size > 0)
      const failed = sum('failed') > 0 ? `${tests(sum('failed'))} failed; ` : ''
      const others = tasks.filter((task) => !broken.some(([name]) => task === `${name}#test`))
      return [
        `${failed}${passed}, in ${seconds}`,
        ...broken.flatMap(([name, { failures }]) => shown(name, failures, folderOf(name))),
        ...others.map((task) => `failed: ${task}; its output is above`),
        ...others.map((task) => `again: npm test -- --filter=${task.split('#')[0]}`),
      ]
    },
  }
}

function shown(name, failures, folder) {
  const files = [...failures]
  return [
    `failed in ${name}:`,
    ...files.flatMap(([file, titles]) => [...titles].map((title) => `  ${file}: ${title}`)),
    `  again: (cd ${folder} && npx vitest run ${files.map(([file]) => file).join(' ')})`,
  ]
}

function tests(count) {
  return `${counted(count)} ${count === 1 ? 'test' : 'tests'}`
}

function counted(count) {
  return count.toLocaleString('en-US')
}
