#include "study/report/parts_section.h"

#include <utility>

#include <fmt/format.h>

namespace forebay {

Section parts_section(const std::vector<PartCost>& parts) {
  Table table{"", {"part", "of the samples", "by itself, samples/s", "of the time"}, {}};
  for (const PartCost& part : parts)
    table.rows.push_back({part.name, format_figure(part.sample_share, PlotUnit::kShare),
                          part.rate ? fmt::format("{:.0f}", *part.rate) : "-",
                          part.rate ? format_figure(part.time_share, PlotUnit::kShare) : "-"});
  return {"Parts, the costliest first", {std::move(table)}};
}

}  // namespace forebay
