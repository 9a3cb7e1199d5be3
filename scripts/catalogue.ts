import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { blockProviders } from './catalogue/block-providers.ts';
import { catalogueOf } from './catalogue/catalogue-of.ts';
import { downloadMap } from './catalogue/litellm-map.ts';
import { shareLines, shareOf } from './catalogue/share.ts';

/**
 * Writes the catalogue of models from LiteLLM's map of prices, and counts the models whose
 * price a price table says: `npm run catalogue`, or `npm run catalogue -- VERSION` for a release of
 * LiteLLM. Needs Python 3 with pip. Downloads nothing but that package.
 */
const FOLDER = join(import.meta.dirname, '../core/model-catalogue');
const FILE = join(FOLDER, 'models.json');

const map = downloadMap(process.argv[2]);
const before = JSON.parse(readFileSync(FILE, 'utf8')) as { as_of: string; source: { version: string } };
const today = new Date().toISOString().slice(0, 10);
// The same release says the same of the day on which it was the newest.
const as_of = before.source.version === map.version ? before.as_of : today;
const { providers, models } = catalogueOf(map.entries, blockProviders());
const head = { as_of, source: { package: 'litellm', version: map.version, licence: 'MIT' }, providers };
const lines = models.map((model) => JSON.stringify(model)).join(',\n');
writeFileSync(FILE, `${JSON.stringify(head).slice(0, -1)},"models":[\n${lines}\n]}\n`);
writeFileSync(join(FOLDER, 'models.LICENSE'), map.licence);
process.stdout.write(`${models.length} models, LiteLLM ${map.version}, as of ${as_of}.\n`);
process.stdout.write(`${shareLines(shareOf(map.entries, as_of)).join('\n')}\n`);
