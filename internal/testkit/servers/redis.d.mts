/** A redis-server that was seen to run; else throws. */
export declare function redisServerBinary(): string
/** A valkey-server that was seen to run; else throws. */
export declare function valkeyServerBinary(): string
/** What `--version` says; undefined where there is no such program, or it does not run. */
export declare function version(binary: string): string | undefined
