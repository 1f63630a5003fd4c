#include "format/files/listing_boundaries.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

namespace forebay {

namespace {

// A page has 1,000; leaves space for names added before the next walk.
constexpr uint64_t kPartNames = 950;
constexpr IndexKind kBoundaryKind = {"boundaries", BoundaryFiles::kMaxFileBytes, BoundaryFiles::kMaxFiles};

void put(std::string* out, std::string_view text) {
  const auto size = static_cast<uint32_t>(text.size());
  out->append(reinterpret_cast<const char*>(&size), sizeof size).append(text);
}

std::optional<std::string> take(std::string_view* in) {
  uint32_t size = 0;
  if (in->size() < sizeof size) return std::nullopt;
  std::memcpy(&size, in->data(), sizeof size);
  in->remove_prefix(sizeof size);
  if (in->size() < size) return std::nullopt;
  std::string text(in->substr(0, size));
  in->remove_prefix(size);
  return text;
}

bool may_cut(const std::string& folder, const std::string& name) {
  return name.size() > folder.size() && name.starts_with(folder) && name.find('/', folder.size()) == std::string::npos;
}

/// Names follow their folder, which is empty or ends in '/'; no name does.
std::string serialised(const Boundaries& boundaries) {
  std::string payload;
  for (const auto& [folder, names] : boundaries) {
    put(&payload, folder);
    for (const std::string& name : names) put(&payload, name);
  }
  return payload;
}

Boundaries parsed(std::string_view payload) {
  Boundaries boundaries;
  std::vector<std::string>* names = nullptr;
  std::string folder;
  while (auto text = take(&payload)) {
    if (text->empty() || text->ends_with('/')) {
      folder = *text;
      names = &boundaries[folder];
    } else if (names == nullptr || !may_cut(folder, *text) || (!names->empty() && *text <= names->back())) {
      return {};
    } else {
      names->push_back(std::move(*text));
    }
  }
  return boundaries;
}

}  // namespace

void BoundaryRecorder::add(const std::string& folder, std::string last, uint64_t entries) {
  if (may_cut(folder, last)) runs_[folder].emplace_back(std::move(last), entries);
}

Boundaries BoundaryRecorder::boundaries() && {
  Boundaries boundaries;
  for (auto& [folder, runs] : runs_) {
    std::ranges::sort(runs);
    std::vector<std::string>& names = boundaries[folder];
    uint64_t entries = 0;
    // The last run ends with the folder, which is not a cut.
    for (size_t i = 0; i + 1 < runs.size(); ++i) {
      entries += runs[i].second;
      if (entries + runs[i + 1].second <= kPartNames) continue;
      if (names.empty() || names.back() < runs[i].first) names.push_back(runs[i].first);
      entries = 0;
    }
    if (names.empty()) boundaries.erase(folder);
  }
  return boundaries;
}

BoundaryFiles::BoundaryFiles(std::string folder) : files_(kBoundaryKind, std::move(folder)) {}

Boundaries BoundaryFiles::load(const std::string& listing) const {
  const LoadedIndex loaded = files_.load(listing);
  return loaded.state == LoadedIndex::State::kFound ? parsed(loaded.payload) : Boundaries();
}

void BoundaryFiles::save(const std::string& listing, const Boundaries& boundaries) const {
  files_.save(listing, serialised(boundaries));
  files_.remove_oldest();
}

}  // namespace forebay
