import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import type { Sampler } from '../trace-config.ts';
import type { Attributes, OtlpExporter } from './otlp-exporter.ts';

/** W3C Trace Context: version, trace id, parent id, flags. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/;
const SAMPLED = 1;

/** A span in progress. */
export type Span = {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly kind: 'server' | 'client';
  readonly startNanos: string;
};

type SpanEnd = { readonly name: string; readonly attributes: Attributes; readonly failed: boolean };

/** Creates spans for requests and for their database operations. */
export class Tracer {
  readonly #exporter: OtlpExporter;
  readonly #sampler: Sampler;
  readonly #current = new AsyncLocalStorage<Span>();

  constructor(exporter: OtlpExporter, sampler: Sampler) {
    this.#exporter = exporter;
    this.#sampler = sampler;
  }

  /** Continues the caller's trace, or begins a new one. Undefined if it is not sampled. */
  beginRequest(traceparent: string | undefined): Span | undefined {
    const [, traceId, parentSpanId, flags = '0'] = TRACEPARENT.exec(traceparent ?? '') ?? [];
    const parentSampled = (Number.parseInt(flags, 16) & SAMPLED) !== 0;
    const sampled =
      traceId !== undefined && this.#sampler.parentBased
        ? parentSampled
        : Math.random() < this.#sampler.ratio;
    return sampled ? begin(traceId ?? randomBytes(16).toString('hex'), parentSpanId, 'server') : undefined;
  }

  /** A child of the current request's span; undefined outside of a sampled request. */
  beginDatabaseSpan(): Span | undefined {
    const parent = this.#current.getStore();
    return parent && begin(parent.traceId, parent.spanId, 'client');
  }

  within<T>(span: Span, work: () => T): T {
    return this.#current.run(span, work);
  }

  end(span: Span, end: SpanEnd): void {
    this.#exporter.add({ ...span, ...end, endNanos: nanos() });
  }

  stop(): Promise<void> {
    return this.#exporter.stop();
  }
}

function begin(traceId: string, parentSpanId: string | undefined, kind: Span['kind']): Span {
  return { traceId, spanId: randomBytes(8).toString('hex'), parentSpanId, kind, startNanos: nanos() };
}

/** The clock's resolution is microseconds; appending zeros gives nanoseconds without a BigInt. */
const nanos = (): string => `${Math.round((performance.timeOrigin + performance.now()) * 1000)}000`;
