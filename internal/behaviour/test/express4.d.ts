// The types of Express 4 as far as the tests use it: the same as those of Express 5.
declare module 'express4' {
  export { default } from 'express'
}
