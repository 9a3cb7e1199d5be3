import type { ReactNode } from 'react';
import type { PriceWindowView } from '#contract/money.ts';
import type { TableJson } from '#core/price-table-text.ts';
import { formatPricePerMillion, formatUtc } from '../format/format.ts';
import {
  distinctPrices,
  hasOtherPrices,
  OTHER_PRICES,
  PRICE_LABELS,
  type PricesOverTime,
  priceEntries,
  windowLabel,
} from './model-labels.ts';
import styles from './price-entries.module.css';

interface ModelPricesProps {
  readonly of: PricesOverTime;
}

/** The base prices now. All others are folded. */
export function FoldedPrices({ of: model }: ModelPricesProps): ReactNode {
  const { prices } = model.priceTable;
  return (
    <>
      <PriceEntries of={{ prices, above: [], serviceTiers: {} }} />
      {hasOtherPrices(model) && (
        <details>
          <summary className="muted small">{OTHER_PRICES}</summary>
          <ModelPrices of={model} />
        </details>
      )}
    </>
  );
}

/** Prices now, at other hours and scheduled ones, in USD per million tokens. */
export function ModelPrices({ of: { priceTable, priceWindows, priceChanges } }: ModelPricesProps): ReactNode {
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

function PriceEntries({ of: table }: { readonly of: TableJson }): ReactNode {
  const entries = priceEntries(table);
  const fields = distinctPrices(entries);
  return (
    <div className={styles.entries}>
      {entries.map(({ label, prices }) => (
        <div key={label}>
          {entries.length > 1 && <div className={styles.entry}>{label}</div>}
          <dl className={styles.prices}>
            {fields.map((field) => (
              <div key={field}>
                <dt className={styles.kind}>{PRICE_LABELS[field]}</dt>
                <dd className={styles.price}>{formatPricePerMillion(prices[field])}</dd>
              </div>
            ))}
          </dl>
        </div>
      ))}
    </div>
  );
}
