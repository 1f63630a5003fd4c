#include <sys/resource.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/chunk_source.h"
#include "base/clock.h"
#include "forebay/materialize.h"
#include "format/files/open_store.h"
#include "loader/describe/sources.h"
#include "materialize/cut.h"
#include "study/few_samples.h"

namespace forebay {

namespace {

namespace fs = std::filesystem;

// Enough parts to show how they differ, few enough that the overhead of beginning each is small.
constexpr int64_t kTrialParts = 4;

// CPU time of all threads of this process.
double cpu_seconds() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// Returns a source of that many samples of the data set. Unsupported, InvalidArgument or
// OutOfBudget if that is impossible.
Result<std::shared_ptr<const Source>> few_of(const FilesToTry& files, const std::shared_ptr<const Source>& all) {
  if (is_source(files.pipeline.description().steps().front(), SourceKind::kUserCode))
    return unsupported(
        "a data set of your own is asked for items by number, and a part of it would have other numbers");
  const auto* chunks = all->as_chunks();
  if (chunks != nullptr && chunks->kept_rows() != nullptr)
    return invalid_argument("filter= chooses rows before the cut, and all rows are materialised");
  std::shared_ptr<const Source> few = representative_subset(all, files.samples, {.count = files.copies});
  if (static_cast<double>(few->size()) >
      std::max(files.most_samples, static_cast<double>(files.samples * files.copies)))
    return Status(
        Code::kOutOfBudget,
        fmt::format("{} rows are the fewest that can be written, and there is time for {:.0f}; give more time",
                    few->size(), files.most_samples));
  return few;
}

Pipeline pipeline_of(Description description) {
  return Pipeline(std::make_shared<const Description>(std::move(description)));
}

double bytes_in(const std::string& folder) {
  double bytes = 0;
  std::error_code gone;
  for (auto entry = fs::recursive_directory_iterator(folder, gone);
       !gone && entry != fs::recursive_directory_iterator(); entry.increment(gone)) {
    std::error_code no_file;
    const uintmax_t size = entry->file_size(no_file);
    if (!no_file) bytes += static_cast<double>(size);
  }
  return bytes;
}

bool is_of_this_host(const std::string& url) { return url_scheme(url).empty() || url_scheme(url) == "file"; }

// Returns the free bytes at that place; infinite in a store.
double free_bytes_at(const std::string& url) {
  std::error_code none;
  fs::path existing = fs::absolute(url, none);
  while (!none && !fs::exists(existing, none) && existing.has_relative_path()) existing = existing.parent_path();
  const fs::space_info space = fs::space(existing, none);
  return none || !is_of_this_host(url) ? std::numeric_limits<double>::infinity() : static_cast<double>(space.available);
}

// Quotes a text so that a shell reads it as one word.
std::string quoted(const std::string& text) {
  const auto plain = [](unsigned char c) { return std::isalnum(c) != 0 || std::strchr("_-./:@%+=,", c) != nullptr; };
  if (!text.empty() && std::ranges::all_of(text, plain)) return text;
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

Status write_parts(Materializer& writer, const FilesToTry& files, TriedFiles& tried) {
  FOREBAY_RETURN_IF_ERROR(writer.begin());
  const int64_t begun_ns = monotonic_ns();
  const double cpu_before = cpu_seconds();
  for (int64_t part = 0; part < writer.shards(); ++part) {
    FOREBAY_RETURN_IF_ERROR(writer.write(part));
    if (bytes_in(files.folder) > files.most_bytes)
      return out_of_budget("so many samples do not fit into what is tried with",
                           static_cast<uint64_t>(files.most_bytes));
  }
  tried.seconds = static_cast<double>(monotonic_ns() - begun_ns) * 1e-9;
  tried.cpu_seconds = cpu_seconds() - cpu_before;
  return {};
}

Result<TriedFiles> try_files(const FilesToTry& files, const std::string& below, MaterializeOptions options) {
  const Description& description = files.pipeline.description();
  const std::shared_ptr<const Source> all = files.as_it_is.opened().description().steps().front().opened;
  FOREBAY_ASSIGN(std::shared_ptr<const Source> few, few_of(files, all));
  options.loader = files.options.loader;
  options.open = files.options.open;
  options.stop = files.options.stop;
  options.poll = files.options.poll;
  const size_t cut = own_step(description, files.behind);
  options.cut = description.steps()[cut].name;
  options.shards = kTrialParts;
  FOREBAY_ASSIGN(const std::unique_ptr<Materializer> writer,
                 Materializer::open(pipeline_of(with_source(description, std::move(few))), files.folder, options));
  TriedFiles tried;
  FOREBAY_RETURN_IF_ERROR(write_parts(*writer, files, tried));
  FOREBAY_ASSIGN(Materialized written, writer->end());
  if (!written.complete) return unavailable("files that were written for the trial are gone").with_key(files.folder);
  for (int64_t part = 0; part < writer->shards(); ++part)
    tried.parts.push_back({writer->samples({part}), written.shard_bytes[static_cast<size_t>(part)]});
  tried.pipeline = std::move(written.pipeline);
  tried.steps = std::move(written.steps);
  // A folder for each cut, so that files of one cut are not read for another.
  const std::string answer = fmt::format("{}/{}", below, options.cut);
  tried.answer = pipeline_of(pipeline_after_cut(description, cut, answer).description);
  tried.command = fmt::format("forebay materialize PIPELINE.json {} --cut {}", quoted(answer), options.cut);
  tried.size = all->size();
  tried.room = free_bytes_at(below);
  tried.in_store = !is_of_this_host(below);
  return tried;
}

}  // namespace

TryFiles trying_files(std::string folder, const MaterializeOptions& how) {
  MaterializeOptions kept;
  kept.format = how.format;
  kept.compression = how.compression;
  kept.quality = how.quality;
  kept.limit = how.limit;
  kept.restart_markers = how.restart_markers;
  return [folder = std::move(folder), kept](const FilesToTry& files) { return try_files(files, folder, kept); };
}

}  // namespace forebay
