#include "cli/inspect_report.h"

#include <utility>

#include <fmt/format.h>

#include "base/byte_size.h"

namespace forebay {
namespace {

constexpr size_t kClassesShown = 10;

std::string one_or_many(int64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string counts_to_text(const std::map<std::string, int64_t>& counts, size_t shown) {
  std::string text;
  size_t i = 0;
  for (const auto& [name, count] : counts) {
    if (i++ == shown) return text + fmt::format(" and {} more", counts.size() - shown);
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, count);
  }
  return text;
}

std::string left_out_to_text(const ImageFolderReport& report) {
  if (report.skipped_hidden + report.skipped_not_images + report.skipped_irregular == 0) return "nothing";
  std::string text = fmt::format("{} hidden, {} not pictures, {} dead or odd links", report.skipped_hidden,
                                 report.skipped_not_images, report.skipped_irregular);
  for (size_t i = 0; i < report.not_images.size(); ++i) text += (i == 0 ? "; e.g. " : ", ") + report.not_images[i];
  return text;
}

}  // namespace

SortedJson Extent::to_json() const { return empty() ? SortedJson() : SortedJson{{"min", min}, {"max", max}}; }

void PictureFindings::add_object(uint64_t size) {
  ++count;
  bytes += size;
  object_bytes.add(static_cast<int64_t>(size));
}

void PictureFindings::add_picture(const ImageInfo& info) {
  ++formats[std::string(image_format_name(info.format))];
  width.add(info.width());
  height.add(info.height());
  progressive += info.progressive;
  rotated += info.orientation != 1;
}

void PictureFindings::add_unreadable(int64_t id, Status status) {
  ++unreadable_count;
  const auto place = std::ranges::upper_bound(unreadable, id, {}, &Unreadable::id);
  unreadable.insert(place, {id, std::move(status)});
  if (unreadable.size() > kMaxUnreadable) unreadable.pop_back();
}

void PictureFindings::merge(PictureFindings other) {
  count += other.count;
  bytes += other.bytes;
  object_bytes.add(other.object_bytes);
  width.add(other.width);
  height.add(other.height);
  for (const auto& [name, pictures] : other.formats) formats[name] += pictures;
  progressive += other.progressive;
  rotated += other.rotated;
  // Computed first, because add_unreadable() below counts only the entries that were retained.
  const int64_t all_unreadable = unreadable_count + other.unreadable_count;
  for (Unreadable& one : other.unreadable) add_unreadable(one.id, std::move(one.status));
  unreadable_count = all_unreadable;
}

SortedJson InspectReport::to_json() const {
  SortedJson unreadable = SortedJson::array();
  for (const auto& [id, status] : found.unreadable) {
    unreadable.push_back(
        {{"id", id}, {"key", status.key()}, {"code", code_name(status.code())}, {"message", status.message()}});
  }
  SortedJson json = {{"bytes", {{"total", found.bytes}, {"object", found.object_bytes.to_json()}}},
                     {"count", found.count},
                     {"decoded", decoded},
                     {"formats", found.formats},
                     {"height", found.height.to_json()},
                     {"left_out",
                      {{"hidden", left_out.skipped_hidden},
                       {"irregular", left_out.skipped_irregular},
                       {"not_images", left_out.skipped_not_images},
                       {"not_images_extensions", left_out.extensions},
                       {"not_images_first", left_out.not_images}}},
                     {"progressive", found.progressive},
                     {"rotated", found.rotated},
                     {"unreadable", {{"count", found.unreadable_count}, {"first", unreadable}}},
                     {"url", url},
                     {"width", found.width.to_json()}};
  json["classes"] = labelled ? SortedJson(classes) : SortedJson();
  return json;
}

std::string InspectReport::to_text() const {
  std::string text =
      fmt::format("{}: {}, {}\n", url, one_or_many(found.count, "picture", "pictures"), format_byte_size(found.bytes));
  text += labelled ? fmt::format("classes     {}: {}\n", classes.size(), counts_to_text(classes, kClassesShown))
                   : fmt::format("classes     none: {}\n", why_not_labelled);
  text += fmt::format("formats     {}; {} progressive, {} to be turned upright\n",
                      found.formats.empty() ? "none" : counts_to_text(found.formats, SIZE_MAX), found.progressive,
                      found.rotated);
  if (!found.object_bytes.empty()) {
    text += fmt::format("file size   {} to {}\n", format_byte_size(static_cast<uint64_t>(found.object_bytes.min)),
                        format_byte_size(static_cast<uint64_t>(found.object_bytes.max)));
  }
  if (!found.width.empty()) {
    text += fmt::format("width       {} to {} px\nheight      {} to {} px\n", found.width.min, found.width.max,
                        found.height.min, found.height.max);
  }
  text += fmt::format("left out    {}\n", left_out_to_text(left_out));
  text += fmt::format("unreadable  {}{}\n", found.unreadable_count,
                      decoded ? " (every pixel was decoded)" : " (headers were read; --decode reads every pixel)");
  for (const auto& [id, status] : found.unreadable) text += fmt::format("  {}\n", status.to_string());
  const auto kept = static_cast<int64_t>(found.unreadable.size());
  if (found.unreadable_count > kept) text += fmt::format("  and {} more\n", found.unreadable_count - kept);
  return text;
}

}  // namespace forebay
