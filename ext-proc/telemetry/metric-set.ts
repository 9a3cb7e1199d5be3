import { Counter, Gauge, Histogram, Registry } from 'prom-client';

/**
 * Values of each label that are known from the start. `increase` does not see a series that begins
 * with its first count, so these series begin at 0. Without known values they begin when counted.
 */
type Labels = Readonly<Record<string, readonly string[]>>;
type Series = readonly [labels: Readonly<Record<string, string>>, value: number];

/** The metrics of a process, by name and help. */
export class MetricSet {
  readonly registry = new Registry();
  readonly #registers = [this.registry];

  counter(name: string, help: string, labels: Labels = {}): Counter {
    const counter = new Counter({ name, help, labelNames: Object.keys(labels), registers: this.#registers });
    for (const series of seriesOf(labels)) counter.inc(series, 0);
    return counter;
  }

  /** A function that counts, without labels. */
  count(name: string, help: string): (amount?: number) => void {
    const counter = this.counter(name, help);
    return (amount) => counter.inc(amount);
  }

  histogram(name: string, help: string, buckets: readonly number[], labelNames: readonly string[] = []): Histogram {
    return new Histogram({ name, help, labelNames, buckets: [...buckets], registers: this.#registers });
  }

  gauge(name: string, help: string, labelNames: readonly string[] = []): Gauge {
    return new Gauge({ name, help, labelNames, registers: this.#registers });
  }

  /** A gauge that is read at each scrape. */
  read(name: string, help: string, value: () => number | Promise<number>): void {
    this.readSeries(name, help, [], async () => [[{}, await value()]]);
  }

  readSeries(
    name: string,
    help: string,
    labelNames: readonly string[],
    series: () => Iterable<Series> | Promise<Iterable<Series>>,
  ): void {
    const collect = async (gauge: Gauge) => {
      const now = await series();
      gauge.reset();
      // prom-client resets a gauge without labels to 0.
      if (labelNames.length === 0) gauge.remove();
      for (const [labels, value] of now) gauge.set(labels, value);
    };
    new Gauge({
      ...{ name, help, labelNames, registers: this.#registers },
      collect() {
        return collect(this);
      },
    });
  }
}

/** Every combination of the known values. */
function seriesOf(labels: Labels): readonly Readonly<Record<string, string>>[] {
  return Object.entries(labels).reduce<Record<string, string>[]>(
    (found, [label, values]) => found.flatMap((one) => values.map((value) => ({ ...one, [label]: value }))),
    [{}],
  );
}
