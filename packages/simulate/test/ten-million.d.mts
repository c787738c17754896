export function writeLog(path: string, count: number, isJson: boolean): void
