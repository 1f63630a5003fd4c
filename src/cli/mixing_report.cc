#include "cli/mixing_report.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/chunk_source.h"
#include "loader/compile/ordering.h"
#include "loader/describe/open_source.h"
#include "loader/describe/step_arguments.h"
#include "loader/samples/unread_plan.h"
#include "pipeline/description.h"
#include "pipeline/op_spec.h"

namespace forebay {

namespace {

Result<MixingReport> report_of(const BranchData& data, const PlanRequest& plan, int64_t batch) {
  const OpSpec* const shuffle = find_step(data.branch.description, OpEffect::kOrder);
  if (shuffle == nullptr) return unsupported("the pipeline has no .shuffle(), so nothing is mixed");
  const auto* chunks = data.source->as_chunks();
  if (chunks == nullptr)
    return unsupported(
        "samples of this source are read one by one, so .shuffle() mixes all of them: there are no blocks");
  MixingReport report;
  report.part = data.branch.name();
  report.block = int_arg(shuffle, "block", report.block);
  report.lanes = int_arg(shuffle, "lanes", report.lanes);
  report.batch = batch;
  MixingOptions options{
      .chunk_rows = selected_rows(*chunks, *data.chosen.selection), .batch = report.batch, .epoch = plan.epoch};
  // Chunks without selected rows are not read and are not part of a block.
  std::erase(options.chunk_rows, 0);
  report.chunks = static_cast<int64_t>(options.chunk_rows.size());
  for (const int64_t rows : options.chunk_rows) report.rows += rows;
  FOREBAY_ASSIGN(report.table, mixing_table(options, report.block, report.lanes, plan.seed));
  return report;
}

SortedJson json_of(const MixingReport& report) {
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

void print(const MixingReport& report, const Console& console) {
  if (!report.part.empty()) fmt::print(console.out, "{}: ", report.part);
  fmt::print(console.out, "{} rows in {} chunks, batches of {} rows, lanes={}\n\n", report.rows, report.chunks,
             report.batch, report.lanes);
  fmt::print(console.out, "{:>7}  {:>8}  {:>17}  {:>14}\n", "block", "distance", "chunks in a batch", "from one chunk");
  for (const MixingRow& row : report.table) {
    const bool used = row.block == std::min(report.block, std::max<int64_t>(report.chunks, 1));
    fmt::print(console.out, "{:>7}  {:>8.3f}  {:>17.1f}  {:>12.1f} %{}\n",
               row.block == 0 ? "flat" : fmt::format("{}", row.block), row.mixing.distance, row.mixing.chunks,
               100 * row.mixing.largest_share, used ? "  <- this pipeline" : "");
  }
  fmt::print(console.out, "\n");
}

}  // namespace

Result<std::vector<MixingReport>> make_mixing_reports(const Pipeline& pipeline, const PlanRequest& plan,
                                                      std::map<std::string, std::string> storage,
                                                      std::stop_token stop) {
  const Description& description = pipeline.description();
  FOREBAY_ASSIGN(auto source, open_source(description.steps().front(),
                                          {.storage_options = std::move(storage), .stop = std::move(stop)}));
  DataPlan data;
  data.branches = begin_branches(description, std::move(source), plan.seed);
  for (BranchData& branch : data.branches) FOREBAY_RETURN_IF_ERROR(choose_unread(&branch, 0, "the report"));
  FOREBAY_RETURN_IF_ERROR(order_branches(description, plan.seed, &data));
  const std::vector<double> shares = shares_of_branches(*data.plan);
  const int64_t batch = batch_size(description) * plan.world_size;
  std::vector<MixingReport> reports;
  for (size_t i = 0; i < data.branches.size(); ++i) {
    // The rows of a batch that are of this part.
    const auto own = static_cast<int64_t>(std::lround(shares[i] * static_cast<double>(batch)));
    Result<MixingReport> report = report_of(data.branches[i], plan, std::max<int64_t>(own, 1));
    if (report.ok())
      reports.push_back(std::move(*report));
    else if (data.branches.size() == 1 || report.status().code() != Code::kUnsupported)
      return report.status();
  }
  if (reports.empty()) return unsupported("no part is a table with a .shuffle(), so there are no blocks");
  return reports;
}

SortedJson mixing_to_json(const std::vector<MixingReport>& reports) {
  if (reports.front().part.empty()) return json_of(reports.front());
  SortedJson parts = SortedJson::object();
  for (const MixingReport& report : reports) parts[report.part] = json_of(report);
  return {{"parts", std::move(parts)}};
}

void print_mixing(const std::vector<MixingReport>& reports, const Console& console) {
  for (const MixingReport& report : reports) print(report, console);
  fmt::print(console.out,
             "distance: how far apart rows come that are stored side by side (1: as far as in a flat shuffle)\n"
             "from one chunk: rows of a batch that come from the chunk which gives most\n");
}

}  // namespace forebay
