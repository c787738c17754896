// `@weir/core/adaptive`: limits that fall under load, and the signals that say how high it is.

export { type AdaptiveOptions, type AdaptivePolicy, adaptive } from '../overload/adaptive.js'
export * from '../overload/signals.js'
