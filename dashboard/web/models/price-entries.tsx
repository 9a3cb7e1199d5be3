import type { ReactNode } from 'react';
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
      <PriceEntries of={{ prices, above: [], serviceTiers: {} }} model={model} />
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
export function ModelPrices({ of: model }: ModelPricesProps): ReactNode {
  return (
    <div className={styles.entries}>
      <PricesByHour of={model} model={model} />
      {model.priceChanges.map((change) => (
        <div key={change.fromMs}>
          <div className={styles.time}>From {formatUtc(change.fromMs)}</div>
          <PricesByHour of={change} model={model} />
        </div>
      ))}
    </div>
  );
}

interface OfModel<Of> {
  readonly of: Of;
  readonly model: PricesOverTime;
}

function PricesByHour({ of, model }: OfModel<Pick<PricesOverTime, 'priceTable' | 'priceWindows'>>): ReactNode {
  return (
    <>
      <PriceEntries of={of.priceTable} model={model} />
      {of.priceWindows.map((window) => (
        <div key={windowLabel(window)}>
          <div className={styles.time}>{windowLabel(window)}</div>
          <PriceEntries of={window.priceTable} model={model} />
        </div>
      ))}
    </>
  );
}

function PriceEntries({ of: table, model }: OfModel<TableJson>): ReactNode {
  const entries = priceEntries(table);
  const fields = distinctPrices(entries, model);
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
