import type { ReactNode } from 'react';
import type { PricesView, PriceTableView } from '../../contract/money.ts';
import { formatPricePerMillion } from '../format/format-money.ts';
import styles from './price-entries.module.css';
import { PRICE_LABELS, priceEntries } from './price-labels.ts';

const PRICES = Object.entries(PRICE_LABELS) as readonly (readonly [keyof PricesView, string])[];

/** Every price entry of a model, in USD per million tokens. */
export function PriceEntries({ of: table }: { readonly of: PriceTableView }): ReactNode {
  const entries = priceEntries(table);
  return (
    <div className={styles.entries}>
      {entries.map(({ label, prices }) => (
        <div key={label}>
          {entries.length > 1 && <div className={styles.entry}>{label}</div>}
          <dl className={styles.prices}>
            {PRICES.map(([price, name]) => (
              <div key={price}>
                <dt className={styles.kind}>{name}</dt>
                <dd className={styles.price}>{formatPricePerMillion(prices[price])}</dd>
              </div>
            ))}
          </dl>
        </div>
      ))}
    </div>
  );
}
