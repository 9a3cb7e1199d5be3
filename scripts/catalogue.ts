import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { catalogueOf } from './catalogue/catalogue-of.ts';
import { downloadWitness } from './catalogue/genai-prices.ts';
import { downloadMap } from './catalogue/litellm-map.ts';
import { blockProviders } from './catalogue/provider-blocks.ts';
import { withWitness } from './catalogue/second-witness.ts';
import { unsaidPrices } from './catalogue/unsaid-prices.ts';

/**
 * Writes the model catalogue from LiteLLM's price map, with genai-prices as the second witness.
 * Also names the models whose price no price table expresses. `npm run catalogue`, or `npm run
 * catalogue -- LITELLM GENAI_PRICES` for given releases of both. Needs Python 3 with pip. Downloads
 * only these packages.
 */
const FOLDER = join(import.meta.dirname, '../core/model-catalogue');
const FILE = join(FOLDER, 'models.json');

const [mapVersion, witnessVersion] = process.argv.slice(2);
const map = downloadMap(mapVersion);
const witness = downloadWitness(witnessVersion);
const sources = [
  { package: 'litellm', version: map.version, licence: 'MIT' },
  { package: 'genai-prices', version: witness.version, licence: 'MIT' },
];
const before = JSON.parse(readFileSync(FILE, 'utf8')) as { as_of: string; sources: typeof sources };
const today = new Date().toISOString().slice(0, 10);
// Unchanged releases keep the day on which they were the newest.
const as_of = JSON.stringify(before.sources) === JSON.stringify(sources) ? before.as_of : today;
const { providers, models: mapped } = catalogueOf(map.entries, blockProviders());
const { models, known, notes } = withWitness(mapped, witness.models, as_of);
const head = { as_of, sources, providers };
const lines = models.map((model) => JSON.stringify(model)).join(',\n');
writeFileSync(FILE, `${JSON.stringify(head).slice(0, -1)},"models":[\n${lines}\n]}\n`);
const licences = [map, witness].map(({ licence }, index) => `${sources[index]?.package}\n\n${licence.trimEnd()}\n`);
writeFileSync(join(FOLDER, 'models.LICENSE'), licences.join('\n\n'));
const disputed = models.filter((model) => model.disputed !== undefined).length;
process.stdout.write(
  `${models.length} models, LiteLLM ${map.version}, as of ${as_of}. genai-prices ${witness.version} knows ${known} of them and disputes ${disputed}.\n`,
);
const unsaid = [...unsaidPrices(map.entries, as_of)].map(
  ([kind, names]) => `No price table expresses ${kind}: ${names.join(', ')}.`,
);
process.stdout.write(`${[...notes, ...unsaid].join('\n')}\n`);
