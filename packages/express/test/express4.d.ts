// Express 4 under another name. As far as the tests use it, it has the types of Express 5.
declare module 'express4' {
  export { default } from 'express'
}
