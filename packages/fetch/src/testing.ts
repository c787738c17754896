// The fake clock and the conformance suite, for applications that install only this package.

export * from '@weir/core/testing'
