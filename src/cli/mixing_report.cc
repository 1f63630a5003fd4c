#include "cli/mixing_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/chunk_source.h"
#include "loader/compile/ordering.h"
#include "loader/describe/check.h"
#include "loader/describe/open_source.h"
#include "loader/describe/step_arguments.h"
#include "pipeline/description.h"
#include "pipeline/op_spec.h"

namespace forebay {
Result<MixingReport> make_mixing_report(const Pipeline& pipeline, const PlanRequest& plan,
                                        std::map<std::string, std::string> storage, std::stop_token stop) {
  const Description& description = pipeline.description();
  FOREBAY_RETURN_IF_ERROR(expect_one_data_set(description, "--mixing"));
  const OpSpec* const shuffle = find_step(description, OpEffect::kOrder);
  if (shuffle == nullptr) return unsupported("the pipeline has no .shuffle(), so nothing is mixed");
  FOREBAY_ASSIGN(const auto source, open_source(description.steps().front(),
                                                {.storage_options = std::move(storage), .stop = std::move(stop)}));
  const auto* chunks = source->as_chunks();
  if (chunks == nullptr)
    return unsupported(
        "samples of this source are read one by one, so .shuffle() mixes all of them: there are no blocks");
  MixingReport report;
  report.block = int_arg(shuffle, "block", report.block);
  report.lanes = int_arg(shuffle, "lanes", report.lanes);
  report.batch = batch_size(description) * plan.world_size;
  MixingOptions options{.chunk_rows = selected_rows(*chunks, *select_unread(description, chunks, chunks->size())),
                        .batch = report.batch,
                        .epoch = plan.epoch};
  // Chunks without selected rows are not read and are not part of a block.
  std::erase(options.chunk_rows, 0);
  report.chunks = static_cast<int64_t>(options.chunk_rows.size());
  for (const int64_t rows : options.chunk_rows) report.rows += rows;
  FOREBAY_ASSIGN(report.table, mixing_table(options, report.block, report.lanes, plan.seed));
  return report;
}

SortedJson mixing_to_json(const MixingReport& report) {
  SortedJson table = SortedJson::array();
  for (const MixingRow& row : report.table) {
    table.push_back({{"block", row.block == 0 ? SortedJson("flat") : SortedJson(row.block)},
                     {"chunks_in_batch", row.mixing.chunks},
                     {"distance", row.mixing.distance},
                     {"largest_share", row.mixing.largest_share}});
  }
  return {{"batch", report.batch}, {"block", report.block}, {"chunks", report.chunks},
          {"lanes", report.lanes}, {"mixing", table},       {"rows", report.rows}};
}

void print_mixing(const MixingReport& report, const Console& console) {
  fmt::print(console.out, "{} rows in {} chunks, batches of {} rows, lanes={}\n\n", report.rows, report.chunks,
             report.batch, report.lanes);
  fmt::print(console.out, "{:>7}  {:>8}  {:>17}  {:>14}\n", "block", "distance", "chunks in a batch", "from one chunk");
  for (const MixingRow& row : report.table) {
    const bool used = row.block == std::min(report.block, std::max<int64_t>(report.chunks, 1));
    fmt::print(console.out, "{:>7}  {:>8.3f}  {:>17.1f}  {:>12.1f} %{}\n",
               row.block == 0 ? "flat" : fmt::format("{}", row.block), row.mixing.distance, row.mixing.chunks,
               100 * row.mixing.largest_share, used ? "  <- this pipeline" : "");
  }
  fmt::print(console.out,
             "\ndistance: how far apart rows come that are stored side by side (1: as far as in a flat shuffle)\n"
             "from one chunk: rows of a batch that come from the chunk which gives most\n");
}

}  // namespace forebay
