import type { ReactNode } from 'react';
import type { PricesInTimeView, PricesView, PriceTableView, PriceWindowView } from '#contract/money.ts';
import { formatPricePerMillion, formatUtc } from '../format/format.ts';
import { PRICE_LABELS, priceEntries, windowLabel } from './model-labels.ts';
import styles from './price-entries.module.css';

const PRICES = Object.entries(PRICE_LABELS) as readonly (readonly [keyof PricesView, string])[];

interface ModelPrices extends PricesInTimeView {
  readonly priceTable: PriceTableView;
}

/**
 * Prices of a model in force, those of other hours, and those that come, in USD per million tokens.
 */
export function ModelPrices({
  of: { priceTable, priceWindows, priceChanges },
}: {
  readonly of: ModelPrices;
}): ReactNode {
  return (
    <div className={styles.entries}>
      <PriceEntries of={priceTable} />
      <Windows of={priceWindows} />
      {priceChanges.map((change) => (
        <div key={change.fromMs}>
          <div className={styles.time}>From {formatUtc(change.fromMs)}</div>
          <PriceEntries of={change.priceTable} />
          <Windows of={change.priceWindows} />
        </div>
      ))}
    </div>
  );
}

function Windows({ of: windows }: { readonly of: readonly PriceWindowView[] }): ReactNode {
  return windows.map((window) => (
    <div key={windowLabel(window)}>
      <div className={styles.time}>{windowLabel(window)}</div>
      <PriceEntries of={window.priceTable} />
    </div>
  ));
}

/** Every entry of a price table. */
function PriceEntries({ of: table }: { readonly of: PriceTableView }): ReactNode {
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
