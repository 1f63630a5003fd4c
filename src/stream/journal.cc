#include "stream/journal.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json_depth.h"
#include "telemetry/log.h"

namespace forebay {

namespace {

using JournalJson = nlohmann::ordered_json;
constexpr int kJournalFormat = 1;
constexpr std::string_view kKind = "stream journal";
constexpr std::array<std::string_view, 3> kOnUnderrun = {"wait", "repeat", "rehearse"};

// Returns the offset in an existing journal at which the decisions before the run's place end.
// InvalidArgument if no decision ends at that place.
Result<std::streamoff> end_of_kept(const std::string& path, const JournalHeader& now,
                                   const std::vector<std::string>& partitions) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  FOREBAY_ASSIGN(const JournalHeader was, JournalHeader::from_json(line, partitions));
  if (was.log != now.log || was.seed != now.seed || was.shuffled != now.shuffled ||
      was.on_underrun != now.on_underrun || was.sampled != now.sampled)
    return invalid_argument(
        fmt::format("{} is the journal of another stream, seed, window or .buffer(); give another path", path));
  // The journal already has the decision that a state names, and the observer does not receive it
  // again.
  const int64_t place = now.place.decided();
  int64_t reached = was.place.decided();
  std::streamoff end = file.tellg();
  // At eof() the line has no end: it was cut off while it was written.
  while (reached < place && std::getline(file, line) && !file.eof()) {
    const Result<Decision> decision = Decision::from_json(line, partitions.size());
    if (!decision.ok() || decision->first != reached) break;
    reached = decision->end();
    end = file.tellg();
  }
  if (reached == place) return end;
  return invalid_argument(
      fmt::format("{} ends at record {}, and this run stands at record {}: it is of another run; give another path",
                  path, reached, place));
}

// Parses JSON of an untrusted file. Anything that is not JSON, or nests too deep, becomes null.
JournalJson parsed(std::string_view text) {
  JournalJson json =
      nests_too_deep(text) ? JournalJson() : JournalJson::parse(text, nullptr, /*allow_exceptions=*/false);
  return json.is_discarded() ? JournalJson() : json;
}

}  // namespace

std::string JournalHeader::to_json(const std::vector<std::string>& partitions) const {
  const JournalJson json = {{"forebay", kKind},
                            {"format", kJournalFormat},
                            {"log", log},
                            {"seed", seed},
                            {"shuffled", shuffled},
                            {"sampled", sampled},
                            {"on_underrun", kOnUnderrun[static_cast<size_t>(on_underrun)]},
                            {"place", StreamState{partitions, place}.to_json().dump()}};
  return json.dump();
}

Result<JournalHeader> JournalHeader::from_json(std::string_view text, const std::vector<std::string>& partitions) {
  const JournalJson json = parsed(text);
  const auto has = [&](const char* name, auto is) { return json.contains(name) && is(json[name]); };
  const auto is_text = [](const JournalJson& value) { return value.is_string(); };
  const auto is_bool = [](const JournalJson& value) { return value.is_boolean(); };
  // All types are checked before get(), which throws for a wrong one.
  const bool whole = json.is_object() && json.value("forebay", JournalJson()) == kKind && has("log", is_text) &&
                     has("seed", [](const JournalJson& value) { return value.is_number_unsigned(); }) &&
                     has("shuffled", is_bool) && has("sampled", is_bool) && has("place", is_text);
  if (!whole) return invalid_argument("this is no journal that loader.journal() wrote");
  if (json.value("format", JournalJson()) != kJournalFormat)
    return Status(Code::kUnsupported, fmt::format("this journal has format {}; this Forebay reads format {}",
                                                  json.value("format", JournalJson()).dump(), kJournalFormat));
  JournalHeader header;
  header.log = json["log"].get<std::string>();
  header.seed = json["seed"].get<uint64_t>();
  header.shuffled = json["shuffled"].get<bool>();
  // Journals from before this option lack it: their runs waited.
  const JournalJson said = json.value("on_underrun", JournalJson(kOnUnderrun[0]));
  const auto known =
      std::find_if(kOnUnderrun.begin(), kOnUnderrun.end(), [&](std::string_view one) { return said == one; });
  if (known == kOnUnderrun.end()) return invalid_argument(fmt::format("this journal's on_underrun is {}", said.dump()));
  header.on_underrun = static_cast<OnUnderrun>(known - kOnUnderrun.begin());
  header.sampled = json["sampled"].get<bool>();
  FOREBAY_ASSIGN(const StreamState state, StreamState::from_json(parsed(json["place"].get_ref<const std::string&>())));
  FOREBAY_ASSIGN(header.place, state.place_in(partitions));
  return header;
}

Result<std::shared_ptr<JournalWriter>> JournalWriter::open(const std::string& path, const JournalHeader& header,
                                                           const std::vector<std::string>& partitions) {
  auto writer = std::make_shared<JournalWriter>();
  writer->path_ = path;
  std::error_code error;
  // An empty file is begun anew: the process may have been killed before the first line was
  // written.
  const bool goes_on = std::filesystem::file_size(path, error) > 0 && !error;
  std::streamoff end = 0;
  if (goes_on) {
    FOREBAY_ASSIGN(end, end_of_kept(path, header, partitions));
  }
  writer->file_.reset(std::fopen(path.c_str(), goes_on ? "r+" : "w"));
  if (!writer->file_) return unavailable(fmt::format("{} cannot be written: {}", path, std::strerror(errno)));
  if (goes_on) {
    // The run makes the decisions after the state's place again, and may make other ones.
    if (ftruncate(fileno(writer->file_.get()), end) != 0 || fseeko(writer->file_.get(), end, SEEK_SET) != 0)
      return unavailable(fmt::format("{} cannot be written: {}", path, std::strerror(errno)));
    return writer;
  }
  const std::string line = header.to_json(partitions) + "\n";
  writer->failed_ = std::fwrite(line.data(), 1, line.size(), writer->file_.get()) != line.size();
  FOREBAY_RETURN_IF_ERROR(writer->flush());
  return writer;
}

void JournalWriter::decided(const Decision& decision) {
  const std::string line = decision.to_json() + "\n";
  if (std::fwrite(line.data(), 1, line.size(), file_.get()) != line.size()) failed_ = true;
}

Status JournalWriter::flush() {
  if (std::fflush(file_.get()) != 0) failed_ = true;
  if (!failed_) return {};
  Status failure = unavailable(fmt::format("{} cannot be written: {}", path_, std::strerror(errno)));
  // Training goes on, and nobody would learn of the error before the run is to be repeated.
  if (!warned_.exchange(true))
    log_warning(fmt::format("journal: {}; the run cannot be repeated beyond here", failure.message()));
  return failure;
}

Result<std::shared_ptr<JournalReader>> JournalReader::open(const std::string& path,
                                                           const std::vector<std::string>& partitions) {
  auto reader = std::make_shared<JournalReader>();
  reader->path_ = path;
  reader->partitions_ = partitions.size();
  reader->file_.open(path);
  if (!reader->file_)
    return Status(Code::kNotFound, fmt::format("there is no journal {}; loader.journal(path) writes one", path));
  std::string line;
  std::getline(reader->file_, line);
  Result<JournalHeader> header = JournalHeader::from_json(line, partitions);
  if (!header.ok())
    return header.status().code() == Code::kInvalidArgument
               ? invalid_argument(fmt::format("{}: {}", path, header.status().message()))
               : header.status();
  reader->header_ = std::move(*header);
  reader->begin_ = reader->file_.tellg();
  reader->begins_ = reader->header_.place.decided();
  return reader;
}

Status JournalReader::read_next() {
  const int64_t before = read_ ? read_->end() : begins_;
  read_.reset();
  std::string line;
  if (!std::getline(file_, line) || file_.eof()) return {};
  Result<Decision> decision = Decision::from_json(line, partitions_);
  // A complete line was delivered. Skipping it would end the run early, as if the journal ended.
  if (!decision.ok())
    return corrupt(
        fmt::format("{}: the line behind record {} is damaged: '{}'; without it and all that follows, the "
                    "journal repeats the run up to there",
                    path_, before, line.substr(0, 80)));
  read_ = std::move(*decision);
  return {};
}

Result<DecisionGuide::Answer> JournalReader::at(int64_t first) {
  // This is the first question or a seek back. The search from the beginning is rare, and lines are
  // short.
  if (!read_ || read_->first > first) {
    file_.clear();
    file_.seekg(begin_);
    read_.reset();
    FOREBAY_RETURN_IF_ERROR(read_next());
  }
  while (read_ && read_->first < first) FOREBAY_RETURN_IF_ERROR(read_next());
  // If the journal was cut off, the repetition ends after its last complete line.
  if (!read_) return Answer{Kind::kEnd, {}};
  if (read_->first == first) return Answer{Kind::kDecision, *read_};
  return Status(
      Code::kStateMismatch,
      fmt::format("{}: no decision begins at record {}, where this run stands; it is of another run", path_, first));
}

}  // namespace forebay
