/** The path of a redis-server that has been run once. Throws if there is none. */
export declare function redisServerBinary(): string
/** The path of a valkey-server that has been run once. Throws if there is none. */
export declare function valkeyServerBinary(): string
/** The path of the newest server of a kind: that of Debian's unstable suite. */
export declare function newestServerBinary(kind: 'redis' | 'valkey'): string
/** The output of `--version`, or undefined if the program is missing or does not run. */
export declare function version(binary: string): string | undefined
