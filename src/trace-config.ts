/** The exporter and sampler of traces, from the OTEL_* settings that every OpenTelemetry SDK reads. */
export type TraceSettings = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly resource: Readonly<Record<string, string>>;
  readonly sampler: Sampler;
  readonly exportIntervalMs: number;
};

/** Samples a `ratio` of traces; with `parentBased`, a trace that a caller began is sampled if the caller sampled it. */
export type Sampler = { readonly parentBased: boolean; readonly ratio: number };

const DEFAULT_EXPORT_INTERVAL_MS = 5_000;

type Environment = Readonly<Record<string, string | undefined>>;

/** Undefined without an endpoint, or if OpenTelemetry is disabled: then no code for traces is loaded. */
export function readTraceSettings(env: Environment, faults: string[]): TraceSettings | undefined {
  const text = (name: string): string | undefined => env[name]?.trim() || undefined;
  if (text('OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return undefined;
  if (text('OTEL_TRACES_EXPORTER') === 'none') return undefined;
  const tracesEndpoint = text('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT');
  const base = text('OTEL_EXPORTER_OTLP_ENDPOINT');
  const url = tracesEndpoint ?? (base && `${base.replace(/\/+$/, '')}/v1/traces`);
  if (url === undefined) return undefined;

  // Not repeated in the message: the endpoint may contain a password.
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ''))
    faults.push(
      'OTEL_EXPORTER_OTLP_ENDPOINT must be an http or https address such as http://collector:4318.',
    );
  if (/grpc/.test(text('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL') ?? text('OTEL_EXPORTER_OTLP_PROTOCOL') ?? ''))
    faults.push(
      'OTEL_EXPORTER_OTLP_PROTOCOL must be http/json: Postern does not support gRPC. The HTTP port is usually 4318.',
    );
  return {
    url,
    headers: pairs(text('OTEL_EXPORTER_OTLP_TRACES_HEADERS') ?? text('OTEL_EXPORTER_OTLP_HEADERS')),
    resource: {
      'service.name': text('OTEL_SERVICE_NAME') ?? 'postern',
      ...pairs(text('OTEL_RESOURCE_ATTRIBUTES')),
    },
    sampler: sampler(text('OTEL_TRACES_SAMPLER'), text('OTEL_TRACES_SAMPLER_ARG'), faults),
    exportIntervalMs: exportInterval(text('OTEL_BSP_SCHEDULE_DELAY'), faults),
  };
}

/** A list as OpenTelemetry writes it: `key=value,key=value`, values percent-encoded. */
function pairs(list: string | undefined): Record<string, string> {
  const result: Record<string, string> = {};
  for (const pair of list?.split(',') ?? []) {
    const equals = pair.indexOf('=');
    if (equals < 1) continue;
    const value = pair.slice(equals + 1).trim();
    result[pair.slice(0, equals).trim()] = /%[^0-9a-f]|%.?$/i.test(value) ? value : decodeURIComponent(value);
  }
  return result;
}

function sampler(name = 'parentbased_always_on', argument: string | undefined, faults: string[]): Sampler {
  const parentBased = name.startsWith('parentbased_');
  switch (name.replace('parentbased_', '')) {
    case 'always_on':
      return { parentBased, ratio: 1 };
    case 'always_off':
      return { parentBased, ratio: 0 };
    case 'traceidratio': {
      const ratio = Number(argument ?? 1);
      if (ratio >= 0 && ratio <= 1) return { parentBased, ratio };
      faults.push(`OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1; it is "${argument}".`);
      return { parentBased, ratio: 0 };
    }
    default:
      faults.push(
        `OTEL_TRACES_SAMPLER must be always_on, always_off or traceidratio, optionally with the prefix parentbased_; it is "${name}".`,
      );
      return { parentBased, ratio: 0 };
  }
}

function exportInterval(raw: string | undefined, faults: string[]): number {
  if (raw === undefined) return DEFAULT_EXPORT_INTERVAL_MS;
  if (/^\d{1,6}$/.test(raw) && Number(raw) >= 10) return Number(raw);
  faults.push(`OTEL_BSP_SCHEDULE_DELAY must be milliseconds from 10 to 999999; it is "${raw}".`);
  return DEFAULT_EXPORT_INTERVAL_MS;
}
