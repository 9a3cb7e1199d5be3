/** Group of a thread, by the name that the kernel shows. */
export function groupOf(process: string, isMain: boolean, threadName: string, commandLine: string): string {
  if (process === 'envoy') return threadName.startsWith('wrk:') ? 'workers' : 'others';
  if (process === 'postgres') return postgresGroup(commandLine);
  return isMain ? 'main thread' : 'helper threads';
}

/** PostgreSQL's processes have one thread each, and name their kind in the command line. */
function postgresGroup(commandLine: string): string {
  if (commandLine.startsWith('postgres: walwriter')) return 'walwriter';
  // `postgres: USER DATABASE [local] idle`, or with the address of the client.
  return /^postgres: \S+ \S+ (\[local\]|\d)/.test(commandLine) ? 'backends' : 'others';
}
