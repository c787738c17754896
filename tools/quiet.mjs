// A setup file of every test run: a warning of the process that no test asked for is an error, so
// that the tests' output says what matters. A test whose target is a warning takes it at its
// source: vi.spyOn(process, 'emitWarning').

const once = Symbol.for('weir.quiet')

if (!process[once]) {
  process[once] = true
  process.on('warning', ({ name, code = name, message, stack }) => {
    const error = new Error(`a warning that is not the target of a test: ${code}: ${message}`)
    error.stack = `${error.message}\n${stack?.split('\n').slice(1).join('\n')}`
    throw error
  })
}
