import type { Logger } from 'pino';
import type { TraceSettings } from '../trace-config.ts';

export type Attributes = Record<string, string | number>;

/** A completed span. Times are nanoseconds since 1970 in decimal, as OTLP's JSON requires. */
export type EndedSpan = {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: 'server' | 'client';
  readonly startNanos: string;
  readonly endNanos: string;
  readonly attributes: Attributes;
  readonly failed: boolean;
};

const MAX_QUEUE_LENGTH = 2_048;
const MAX_BATCH_SIZE = 512;
const EXPORT_TIMEOUT_MS = 10_000;
const REPORT_INTERVAL_MS = 60_000;
const KIND = { server: 2, client: 3 } as const;
const STATUS_ERROR = 2;

/**
 * Sends spans to an OpenTelemetry collector, in OTLP over HTTP with JSON (docs/decisions/031-traces.md).
 * No request waits for it: spans that do not fit into the queue, or that the collector rejects, are dropped.
 * The log reports dropped spans at most once a minute.
 */
export class OtlpExporter {
  readonly #settings: TraceSettings;
  readonly #log: Logger;
  readonly #exportTimer: NodeJS.Timeout;
  readonly #reportTimer: NodeJS.Timeout;
  #queue: EndedSpan[] = [];
  #sending: Promise<void> = Promise.resolve();
  #dropped = 0;
  #reportedAt = -Infinity;

  constructor(settings: TraceSettings, log: Logger) {
    this.#settings = settings;
    this.#log = log;
    this.#exportTimer = setInterval(() => this.#send(), settings.exportIntervalMs).unref();
    this.#reportTimer = setInterval(
      () => this.#reportDropped('the queue is full'),
      REPORT_INTERVAL_MS,
    ).unref();
  }

  add(span: EndedSpan): void {
    if (this.#queue.length >= MAX_QUEUE_LENGTH) {
      this.#dropped++;
      return;
    }
    this.#queue.push(span);
    if (this.#queue.length === MAX_BATCH_SIZE) this.#send();
  }

  /** Sends the spans that are still queued. */
  async stop(): Promise<void> {
    clearInterval(this.#exportTimer);
    clearInterval(this.#reportTimer);
    this.#send();
    await this.#sending;
  }

  /** One batch after the other, so that a slow collector does not make memory grow beyond the queue. */
  #send(): void {
    this.#sending = this.#sending.then(async () => {
      while (this.#queue.length > 0) {
        const batch = this.#queue.slice(0, MAX_BATCH_SIZE);
        this.#queue = this.#queue.slice(MAX_BATCH_SIZE);
        if (!(await this.#post(batch))) return;
      }
    });
  }

  async #post(batch: readonly EndedSpan[]): Promise<boolean> {
    const { url, headers, resource } = this.#settings;
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: exportRequest(resource, batch),
        signal: AbortSignal.timeout(EXPORT_TIMEOUT_MS),
      });
      await response.body?.cancel();
      if (!response.ok) throw new Error(`it responded with ${response.status}`);
      return true;
    } catch (error) {
      this.#dropped += batch.length;
      this.#reportDropped(error instanceof Error ? error.message : 'unknown');
      return false;
    }
  }

  #reportDropped(reason: string): void {
    const now = performance.now();
    if (this.#dropped === 0 || now - this.#reportedAt < REPORT_INTERVAL_MS) return;
    this.#reportedAt = now;
    this.#log.warn({ reason, dropped: this.#dropped }, 'spans for the trace collector were dropped');
    this.#dropped = 0;
  }
}

/** ExportTraceServiceRequest of opentelemetry-proto, in its JSON form. */
function exportRequest(resource: Readonly<Record<string, string>>, spans: readonly EndedSpan[]): string {
  return JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: attributeList(resource) },
        scopeSpans: [{ scope: { name: 'postern' }, spans: spans.map(spanJson) }],
      },
    ],
  });
}

function spanJson(span: EndedSpan) {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    ...(span.parentSpanId && { parentSpanId: span.parentSpanId }),
    name: span.name,
    kind: KIND[span.kind],
    startTimeUnixNano: span.startNanos,
    endTimeUnixNano: span.endNanos,
    attributes: attributeList(span.attributes),
    status: span.failed ? { code: STATUS_ERROR } : {},
  };
}

/** 64-bit integers are strings in the JSON form. */
function attributeList(attributes: Readonly<Attributes>) {
  return Object.entries(attributes).map(([key, value]) => ({
    key,
    value: typeof value === 'string' ? { stringValue: value } : { intValue: String(value) },
  }));
}
