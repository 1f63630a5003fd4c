#pragma once

#include <vector>

#include <nlohmann/json.hpp>

#include "cli/verbs.h"
#include "forebay/loader.h"
#include "forebay/pipeline.h"
#include "forebay/status.h"

namespace forebay {

/// JSON for people's tools: keys sorted.
using SortedJson = nlohmann::json;
/// Names of files need not be UTF-8; what is not becomes U+FFFD.
/// Ends in a newline. What cannot be written is noticed by run_program(), when the verb is over.
void print_json(const SortedJson& json, const Console& console);

/// Says why the verb failed: one sentence on `err`, and {"error": …} on `out` for --json. Gives the exit code:
/// kInterrupted for Cancelled, else kFailed.
int report_failure(const Status& status, bool json, const Console& console);

/// The same for the pipeline of a file that check() found wanting; all problems, each with its remedy.
int report_problems(const std::string& file, const std::vector<Problem>& problems, bool json, const Console& console);

/// All of them, in the order given: by sample, where they come from Ranks::errors().
SortedJson errors_to_json(const std::vector<ErrorEntry>& errors);
/// The first few, one line each, and how many more.
void print_errors(const std::vector<ErrorEntry>& errors, const Console& console);

}  // namespace forebay
