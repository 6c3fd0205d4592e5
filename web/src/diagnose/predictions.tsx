/** What each device should reach under the usual benchmarks, alone and with all others, and why not more. */
import type { Predict, PredictMeasuredElsewhere, PredictPrediction } from "lanewise";
import { type Reached, reached } from "./grouping.ts";
import { rate } from "./rate.ts";

const MOST_ADDRESSES = 8;

export function Predictions({ predict }: { predict: Predict }) {
  return (
    <>
      {reached(predict).map((group) => (
        <Table key={group.addresses[0]} group={group} />
      ))}
      {predict.measured_elsewhere.length > 0 && <MeasuredElsewhere kinds={predict.measured_elsewhere} />}
      <details>
        <summary>What was assumed</summary>
        <ul class="notes">
          {predict.assumptions.map((each) => (
            <li key={each}>{each}</li>
          ))}
        </ul>
      </details>
      {predict.notes.length > 0 && (
        <ul class="notes">
          {predict.notes.map((each) => (
            <li key={each}>{each}</li>
          ))}
        </ul>
      )}
    </>
  );
}

function Table({ group }: { group: Reached }) {
  const { addresses, device, link, rows } = group;
  const more = addresses.length - MOST_ADDRESSES;
  const name = `${addresses.slice(0, MOST_ADDRESSES).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
  return (
    <div class="table-scroll" tabindex={0} role="group" aria-label={`${device}, ${name}`}>
      <table class="predictions" data-bdf={addresses[0]}>
        <caption>
          {addresses.length > 1 && `${addresses.length} × `}
          {device} <span class="soft">{name}, {link}</span>
        </caption>
        <thead>
          <tr>
            <th scope="col">benchmark</th>
            <th scope="col" class="number" title="Payload that the narrowest link carries">
              ceiling, GB/s
            </th>
            <th scope="col" class="number" title="~ had not settled when the time simulated was over">
              alone, GB/s
            </th>
            <th scope="col" class="number" title="~ had not settled when the time simulated was over">
              all at once, GB/s
            </th>
            <th scope="col">bound by</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={`${row.benchmark} ${row.direction}`}>
              <th scope="row">{benchmark(row)}</th>
              <td class="number">{rate(row.ceiling_gb_per_s, true)}</td>
              <td class="number">{row.latency_ns === null ? rate(row.alone_gb_per_s, row.alone_has_settled) : `${(row.latency_ns / 1000).toFixed(1)} µs`}</td>
              <td class="number">{rate(row.together_gb_per_s, row.together_has_settled)}</td>
              <td class="binding">{row.binding.replace(`the link of ${row.bdf}`, "its link")}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function MeasuredElsewhere({ kinds }: { kinds: PredictMeasuredElsewhere[] }) {
  return (
    <div class="table-scroll" tabindex={0} role="group" aria-label="Measured elsewhere">
      <table class="predictions" id="measured-elsewhere">
        <caption>
          Measured elsewhere, in percent of what is simulated <span class="soft">no value was chosen from these</span>
        </caption>
        <thead>
          <tr>
            <th scope="col">kind of case</th>
            <th scope="col" class="number">
              cells
            </th>
            <th scope="col" class="number">
              median
            </th>
            <th scope="col" class="number">
              eight in ten
            </th>
          </tr>
        </thead>
        <tbody>
          {kinds.map((each) => (
            <tr key={each.kind_of_case}>
              <th scope="row">{each.kind_of_case}</th>
              <td class="number">{each.cells}</td>
              <td class="number">{each.median_percent.toFixed(0)} %</td>
              <td class="number">
                {each.low_percent.toFixed(0)} to {each.high_percent.toFixed(0)} %
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function benchmark(row: PredictPrediction): string {
  const { benchmark: name, frames_per_s, alone_has_settled } = row;
  return frames_per_s ? `${name}, ${rate(frames_per_s / 1e6, alone_has_settled, 1)} M/s` : name;
}
