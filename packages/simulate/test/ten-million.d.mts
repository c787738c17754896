export function linesOf(count: number, isJson: boolean): Generator<string>
export function writeLog(path: string, count: number, isJson: boolean): void
