import type { Logger } from 'pino';
import type { TraceSettings } from '../trace-config.ts';

export type Attributes = Record<string, string | number>;

/** A span that has ended. Times are nanoseconds since 1970, written in decimal as OTLP's JSON wants them. */
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
const TIMEOUT_MS = 10_000;
const COMPLAIN_EVERY_MS = 60_000;
const KIND = { server: 2, client: 3 } as const;
const STATUS_ERROR = 2;

/**
 * Sends spans to an OpenTelemetry collector, in OTLP over HTTP with JSON (docs/decisions/031-traces.md).
 * Never waited for by a request: what does not fit the queue, or the collector does not take, is dropped.
 */
export class OtlpExporter {
  readonly #settings: TraceSettings;
  readonly #log: Logger;
  readonly #timer: NodeJS.Timeout;
  #queue: EndedSpan[] = [];
  #sending: Promise<void> = Promise.resolve();
  #dropped = 0;
  #complainedAt = -Infinity;

  constructor(settings: TraceSettings, log: Logger) {
    this.#settings = settings;
    this.#log = log;
    this.#timer = setInterval(() => this.#send(), settings.exportIntervalMs).unref();
  }

  add(span: EndedSpan): void {
    if (this.#queue.length >= MAX_QUEUE_LENGTH) {
      this.#dropped++;
      return;
    }
    this.#queue.push(span);
    if (this.#queue.length === MAX_BATCH_SIZE) this.#send();
  }

  /** What is still queued goes out once more. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#send();
    await this.#sending;
  }

  /** One batch after the other: a slow collector fills the queue, not the memory. */
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
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      await response.body?.cancel();
      if (!response.ok) throw new Error(`it answered ${response.status}`);
      return true;
    } catch (error) {
      this.#dropped += batch.length;
      this.#complain(error);
      return false;
    }
  }

  #complain(error: unknown): void {
    const now = performance.now();
    if (now - this.#complainedAt < COMPLAIN_EVERY_MS) return;
    this.#complainedAt = now;
    const reason = error instanceof Error ? error.message : 'unknown';
    this.#log.warn({ reason, dropped: this.#dropped }, 'the trace collector did not take the spans');
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
