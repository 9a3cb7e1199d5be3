import type { CheckedConfig } from '#core/config/gateway-config.ts';
import { countOf } from '#core/count-of.ts';
import type { DatabaseDiagnosis } from '#database/diagnosis.ts';
import { type Finding, ok, problem } from './check.ts';

/** Compares the price lists of organizations with those of the configuration. */
export async function lookAtPriceLists(
  { priceLists }: Pick<CheckedConfig, 'priceLists'>,
  database: DatabaseDiagnosis,
): Promise<readonly Finding[]> {
  const check = 'price lists';
  const used = await database.priceLists();
  const lacking = used.filter(({ name }) => !priceLists.has(name));
  if (used.length === 0) return [ok(check, 'no price list is in use')];
  if (lacking.length === 0) return [ok(check, `${countOf(used.length, 'price list')} in use, all configured`)];
  return lacking.map(({ name, count, organizations }) => {
    const others = count - organizations.length;
    const who = `${organizations.join(', ')}${others > 0 ? ` and ${others} more` : ''}`;
    const found = `${who}: the price list ${name} is not in the configuration, so the models' own prices apply`;
    return problem(
      check,
      found,
      'Add it to price_lists, or correct the organization: org update ID --price-list NAME.',
    );
  });
}
