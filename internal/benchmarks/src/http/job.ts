/** The number of clients, which send requests in turn. */
export const CLIENTS = 10_000
