import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { MAX_FILE_BYTES, withWheel } from './wheel.ts';

/** Prices of genai-prices: the second witness, and the only one for days of price changes. */
export interface Witness {
  readonly version: string;
  readonly licence: string;
  /** Models by provider, in the order of matching. */
  readonly models: ReadonlyMap<string, readonly WitnessModel[]>;
}

/** Members as in the package's `types.py`. */
export interface WitnessModel {
  readonly id: string;
  readonly match: Clause;
  readonly prices: WitnessPrices | readonly ConditionalPrice[];
}

export interface WitnessPrices {
  readonly [member: string]: unknown;
}

export interface TieredPrices {
  readonly base: number;
  readonly tiers: readonly { readonly start: number; readonly price: number }[];
}

/** The last one whose constraint is met applies. */
export interface ConditionalPrice {
  readonly constraint?: null | {
    readonly start_date?: string;
    readonly start_time?: string;
    readonly end_time?: string;
  };
  readonly prices: WitnessPrices;
}

export type Clause =
  | { readonly class: 'ClauseEquals'; readonly equals: string }
  | { readonly class: 'ClauseStartsWith'; readonly starts_with: string }
  | { readonly class: 'ClauseEndsWith'; readonly ends_with: string }
  | { readonly class: 'ClauseContains'; readonly contains: string }
  | { readonly class: 'ClauseRegex'; readonly regex: string }
  | { readonly class: 'ClauseOr'; readonly or_: readonly Clause[] }
  | { readonly class: 'ClauseAnd'; readonly and_: readonly Clause[] };

interface WitnessProvider {
  readonly id: string;
  readonly models: readonly WitnessModel[];
}

/** Reads the prices of a release of genai-prices. Without a version, of the newest. */
export function downloadWitness(version: string | undefined): Witness {
  return withWheel('genai-prices', version, (wheel) => {
    const providers = readPythonData(wheel.read('genai_prices/data.py'), 'providers') as readonly WitnessProvider[];
    const models = new Map(providers.map((provider) => [provider.id, provider.models]));
    return { version: wheel.version, licence: wheel.licence, models };
  });
}

const READER = join(import.meta.dirname, 'python-data.py');

/** The package's data is Python source, which is parsed without running it. */
export function readPythonData(source: string, name: string): unknown {
  const options = { encoding: 'utf8', input: source, maxBuffer: MAX_FILE_BYTES, stdio: 'pipe' } as const;
  return JSON.parse(execFileSync('python3', [READER, name], options));
}

/** Provider names that differ from the catalogue's. */
const PROVIDERS: ReadonlyMap<string, string> = new Map([
  ['moonshot', 'moonshotai'],
  ['xai', 'x-ai'],
]);
const COMPACT_DAY = /-(20\d\d)(\d\d)(\d\d)$/;

/** Finds the model with the prices of a model in the catalogue. */
export function witnessOf(id: string, models: Witness['models']): WitnessModel | undefined {
  const [provider = '', ...rest] = id.toLowerCase().split('/');
  const name = rest.join('/');
  const known = models.get(PROVIDERS.get(provider) ?? provider) ?? [];
  const find = (text: string) => known.find(({ match }) => matches(match, text));
  return find(name) ?? find(name.replace(COMPACT_DAY, '-$1-$2-$3'));
}

function matches(clause: Clause, text: string): boolean {
  switch (clause.class) {
    case 'ClauseEquals':
      return text === clause.equals.toLowerCase();
    case 'ClauseStartsWith':
      return text.startsWith(clause.starts_with.toLowerCase());
    case 'ClauseEndsWith':
      return text.endsWith(clause.ends_with.toLowerCase());
    case 'ClauseContains':
      return text.includes(clause.contains.toLowerCase());
    case 'ClauseRegex':
      return new RegExp(clause.regex).test(text);
    case 'ClauseOr':
      return clause.or_.some((one) => matches(one, text));
    case 'ClauseAnd':
      return clause.and_.every((one) => matches(one, text));
    default:
      throw new Error(`genai-prices has an unknown clause: ${JSON.stringify(clause satisfies never)}`);
  }
}
