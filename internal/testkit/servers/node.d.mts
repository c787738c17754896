/** The newest version, as a number such as '22.13.0'. */
export function newestNode(): string
/** The path of the binary of a version such as '22.13.0'. */
export function nodeBinary(wanted: string): string
