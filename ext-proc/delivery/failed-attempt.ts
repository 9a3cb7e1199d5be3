import type { Target } from '../../core/config/gateway-config.ts';
import type { ProviderFailure } from './provider/provider-failure.ts';

/** An attempt that brought no answer that could be passed on. */
export interface FailedAttempt {
  readonly kind: 'failed';
  readonly failure: ProviderFailure;
  readonly target: Target;
  /** Absent: there was nothing to ask for any more, and the provider was not asked. */
  readonly asked?: AskedProvider;
}

/** What had become of the call when the attempt failed. */
export interface AskedProvider {
  /** Since the delivery began. */
  readonly askedMs: number;
  /** The provider was sent the whole request, as far as this process can know: Envoy has taken all of it. */
  readonly wasSent: boolean;
  /** That came of the body, where the answer is a success. */
  readonly answerBytes: number;
  /** By which the provider can be asked about it, where it said one. */
  readonly requestId: string | undefined;
}
