#pragma once

#include <cstdint>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/failure.h"
#include "forebay/pipeline.h"
#include "loader/compile/ordering.h"
#include "loader/samples/epoch_plan.h"
#include "plan/mixing.h"

namespace forebay {

/// How well the blocks of a pipeline's .shuffle() mix rows that are stored together, compared with
/// other block sizes and a flat shuffle. Rows and chunks are counted after .take() and filter=, as
/// far as these are known without reading rows.
struct MixingReport {
  std::string part = {};  ///< name of the part; empty for a pipeline over one data set
  int64_t rows = 0, chunks = 0;
  int64_t batch = 1;  ///< rows of all ranks together; those of the part, on average
  int64_t block = kDefaultBlock, lanes = 1;
  std::vector<MixingRow> table;
};

/// Computes the reports of all tables of a pipeline from the listings and the indexes of the files,
/// without reading rows. Unsupported, with the reason, if no samples are stored in chunks and
/// shuffled.
Result<std::vector<MixingReport>> make_mixing_reports(const Pipeline& pipeline, const PlanRequest& plan,
                                                      std::map<std::string, std::string> storage, std::stop_token stop);

/// The report of one data set, or for parts {"parts": {name: report}}.
SortedJson mixing_to_json(const std::vector<MixingReport>& reports);
void print_mixing(const std::vector<MixingReport>& reports, const Console& console);

}  // namespace forebay
