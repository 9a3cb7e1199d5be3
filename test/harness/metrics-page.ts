/** One line of a metrics page. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface MetricsPage {
  /** From `# TYPE` lines, which list a name even if it has no samples yet. */
  readonly types: ReadonlyMap<string, string>;
  readonly samples: readonly Sample[];
}

export async function readMetrics(metricsOrigin: string): Promise<MetricsPage> {
  const response = await fetch(`${metricsOrigin}/metrics`);
  if (response.status !== 200) throw new Error(`/metrics answered ${response.status}`);
  return parseMetrics(await response.text());
}

function parseMetrics(text: string): MetricsPage {
  const types = new Map<string, string>();
  const samples: Sample[] = [];
  for (const line of text.split('\n')) {
    const [, typed, type] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
    if (typed !== undefined && type !== undefined) types.set(typed, type);
    else if (line !== '' && !line.startsWith('#')) samples.push(parseSample(line));
  }
  return { types, samples };
}

function parseSample(line: string): Sample {
  const [, name, labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
  if (name === undefined) throw new Error(`no line of a metrics page: ${line}`);
  const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)];
  return {
    name,
    labels: Object.fromEntries(pairs.map(([, label = '', text = '']) => [label, text])),
    value: Number(value),
  };
}

/** Sum over all gateway processes of the series with these labels. NaN when there are none. */
export async function metric(
  metricsOrigin: string,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): Promise<number> {
  const { samples } = await readMetrics(metricsOrigin);
  const fitting = samples.filter(
    (sample) => sample.name === name && Object.entries(labels).every(([label, text]) => sample.labels[label] === text),
  );
  return fitting.length === 0 ? Number.NaN : fitting.reduce((sum, { value }) => sum + value, 0);
}
