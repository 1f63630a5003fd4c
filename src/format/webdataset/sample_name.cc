#include "format/webdataset/sample_name.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace forebay {

namespace {

constexpr std::array<std::string_view, 5> kTexts = {"txt", "text", "transcript", "json", "jsn"};
constexpr std::array<std::string_view, 7> kIntegers = {"cls", "cls2", "class", "count", "index", "inx", "id"};
constexpr std::array<std::string_view, 6> kPickles = {"pyd", "pickle", "pkl", "pth", "pt", "joblib"};

std::string_view after_last_dot(std::string_view extension) { return extension.substr(extension.rfind('.') + 1); }

bool leaves_its_folder(std::string_view path) {
  if (path.starts_with('/')) return true;
  for (size_t at = 0; at < path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    // Refused only as a whole component: "a..b" is an ordinary name.
    if (path.substr(at, end - at) == "..") return true;
    at = end + 1;
  }
  return false;
}

bool is_note(std::string_view component) {
  return component.size() >= 4 && component.starts_with("__") && component.ends_with("__");
}

}  // namespace

bool is_shard_note(std::string_view name) { return is_note(name.substr(0, name.find('/'))); }

Result<std::optional<TarSampleName>> split_sample_name(std::string_view name, NameSplit split) {
  if (leaves_its_folder(name))
    return corrupt(fmt::format("'{}' is a path that leaves its folder; such a tar is not read", name));
  const std::string_view last = name.substr(name.rfind('/') + 1);
  // WebDataset uses the first dot: "0001.seg.png" is the field "seg.png".
  const size_t dot = split == NameSplit::kFirstDot ? last.find('.') : last.rfind('.');
  if (last.starts_with('.') || dot == std::string_view::npos || dot + 1 == last.size())
    return std::optional<TarSampleName>();
  if (is_shard_note(name)) return std::optional<TarSampleName>();
  TarSampleName parts{name.substr(0, name.size() - last.size() + dot), std::string(last.substr(dot + 1))};
  std::ranges::transform(parts.extension, parts.extension.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return std::optional(std::move(parts));
}

ExtensionKind kind_of_extension(std::string_view extension) {
  const std::string_view last = after_last_dot(extension);
  const auto among = [last](const auto& words) { return std::ranges::find(words, last) != words.end(); };
  if (among(kTexts)) return ExtensionKind::kText;
  if (among(kIntegers)) return ExtensionKind::kInteger;
  return among(kPickles) ? ExtensionKind::kPickle : ExtensionKind::kBytes;
}

}  // namespace forebay
