// @ts-check
// Sends a burst of requests and prints one line for each.

const HEADINGS = ['request', 'status', 'RateLimit', 'Retry-After']

/**
 * Sends the requests one after another, and prints the responses as a table.
 * @param {string} url
 * @param {string[]} paths
 */
export async function showBurst(url, paths) {
  const rows = [HEADINGS]
  for (const path of paths) {
    const response = await fetch(url + path)
    await response.arrayBuffer()
    const { status, statusText, headers } = response
    rows.push([
      `GET ${path}`,
      `${status} ${statusText}`,
      headers.get('RateLimit') ?? '-',
      headers.get('Retry-After') ?? '-',
    ])
  }
  const widths = HEADINGS.map((_, column) =>
    Math.max(...rows.map((row) => row[column]?.length ?? 0)),
  )
  for (const row of rows) {
    console.log(
      `  ${row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('   ')
        .trimEnd()}`,
    )
  }
}
