#pragma once

#include <vector>

#include <nlohmann/json.hpp>

#include "cli/verbs.h"
#include "forebay/loader.h"
#include "forebay/pipeline.h"
#include "forebay/status.h"

namespace forebay {

/// JSON with sorted keys, so that the output of a command is stable.
using SortedJson = nlohmann::json;
/// Prints JSON and a newline. Bytes that are not UTF-8, as in file names, become U+FFFD.
/// run_program() reports write errors when the verb has ended.
void print_json(const SortedJson& json, const Console& console);

/// Reports why the verb failed: one sentence on `err`, and for --json {"error": …} on `out`.
/// Returns the exit code: kInterrupted for Cancelled, else kFailed.
int report_failure(const Status& status, bool json, const Console& console);

/// Reports all problems that check() found in the pipeline of a file, each with its remedy. Returns
/// the exit code.
int report_problems(const std::string& file, const std::vector<Problem>& problems, bool json, const Console& console);

/// Returns all errors in the order given. Those of Ranks::errors() are ordered by sample.
SortedJson errors_to_json(const std::vector<ErrorEntry>& errors);
/// Prints the first few errors, one line each, and the number of the others.
void print_errors(const std::vector<ErrorEntry>& errors, const Console& console);

}  // namespace forebay
