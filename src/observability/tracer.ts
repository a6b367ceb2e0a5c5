import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import type { Sampler } from '../trace-config.ts';
import type { Attributes, OtlpExporter } from './otlp-exporter.ts';

/** W3C Trace Context: version, trace id, parent id, flags. */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/;
const SAMPLED = 1;

/** A span under way. */
export type Span = {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly kind: 'server' | 'client';
  readonly startNanos: string;
};

export type Ending = { readonly name: string; readonly attributes: Attributes; readonly failed: boolean };

/** Spans of requests, and of what they ask of the database. */
export class Tracer {
  readonly #exporter: OtlpExporter;
  readonly #sampler: Sampler;
  readonly #current = new AsyncLocalStorage<Span>();

  constructor(exporter: OtlpExporter, sampler: Sampler) {
    this.#exporter = exporter;
    this.#sampler = sampler;
  }

  /** Goes on with the caller's trace, or begins one. Undefined when this one is not to be taken. */
  beginRequest(traceparent: string | undefined): Span | undefined {
    const [, traceId, parentSpanId, flags = '0'] = TRACEPARENT.exec(traceparent ?? '') ?? [];
    const parentSampled = (Number.parseInt(flags, 16) & SAMPLED) !== 0;
    const taken =
      traceId !== undefined && this.#sampler.parentBased
        ? parentSampled
        : Math.random() < this.#sampler.ratio;
    return taken ? begin(traceId ?? randomBytes(16).toString('hex'), parentSpanId, 'server') : undefined;
  }

  /** A step of the request in whose course this is called; undefined outside of one that is taken. */
  beginStep(): Span | undefined {
    const parent = this.#current.getStore();
    return parent && begin(parent.traceId, parent.spanId, 'client');
  }

  within<T>(span: Span, work: () => T): T {
    return this.#current.run(span, work);
  }

  end(span: Span, ending: Ending): void {
    this.#exporter.add({ ...span, ...ending, endNanos: nanos() });
  }

  stop(): Promise<void> {
    return this.#exporter.stop();
  }
}

function begin(traceId: string, parentSpanId: string | undefined, kind: Span['kind']): Span {
  return { traceId, spanId: randomBytes(8).toString('hex'), parentSpanId, kind, startNanos: nanos() };
}

/** Microseconds are as fine as the clock is; the zeros make them nanoseconds without a BigInt. */
const nanos = (): string => `${Math.round((performance.timeOrigin + performance.now()) * 1000)}000`;
