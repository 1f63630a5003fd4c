#include "cli/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "telemetry/step_counters.h"

namespace forebay {
namespace {

constexpr int64_t kRedrawNs = 100'000'000;
constexpr int kPlainWidth = 80;

int terminal_width(FILE* file) {
  winsize size{};
  const bool known = ioctl(fileno(file), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  // The last column stays free, because some terminals begin a new line after it.
  return known ? size.ws_col - 1 : kPlainWidth;
}

}  // namespace

std::string progress_line(const std::string& label, int64_t done, int64_t total, double per_second, int width,
                          const std::string& note) {
  const std::string left = label + "  ";
  const std::string right =
      fmt::format("  {} of {}  {:.0f}/s{}{}", done, total, per_second, note.empty() ? "" : "  ", note);
  const auto room = static_cast<int64_t>(width) - static_cast<int64_t>(left.size() + right.size()) - 2;
  std::string line;
  // A bar of less than four characters would show nothing.
  if (room < 4) {
    line = left + right.substr(2);
  } else {
    __extension__ using Wide = __int128;  // the product below may exceed 64 bits
    // `done` may exceed the total if the total is an estimate.
    const Wide part = std::clamp<int64_t>(done, 0, std::max<int64_t>(total, 0));
    const auto full = total <= 0 ? room : static_cast<int64_t>(part * room / total);
    std::string bar(static_cast<size_t>(full), '=');
    if (full < room) bar += '>';
    bar.resize(static_cast<size_t>(room), ' ');
    line = left + '[' + bar + ']' + right;
  }
  // A line that wraps cannot be overwritten, so each update would leave a copy on the terminal.
  if (static_cast<int64_t>(line.size()) > width) line.resize(static_cast<size_t>(std::max(width, 0)));
  return line;
}

Progress::Progress(const Console& console, std::string label, int64_t total, bool quiet)
    : console_(console), label_(std::move(label)), total_(total), quiet_(quiet),
      terminal_(isatty(fileno(console.err)) == 1), start_ns_(monotonic_ns()) {
  if (terminal_) draw(0, start_ns_, {});
}

Progress::~Progress() {
  if (terminal_ && !quiet_) fmt::print(console_.err, "\r\033[K");
}

void Progress::update(int64_t done, const std::function<std::string()>& note) {
  const int64_t now_ns = monotonic_ns();
  if (terminal_ && now_ns - last_draw_ns_ >= kRedrawNs) draw(done, now_ns, note);
  if (terminal_ || total_ <= 0) return;
  // In a file each update is a separate line, and four of them are enough.
  const int64_t quarters = done * 4 / total_;
  if (quarters > quarters_shown_) draw(done, now_ns, {});
  quarters_shown_ = quarters;
}

void Progress::draw(int64_t done, int64_t now_ns, const std::function<std::string()>& note) {
  last_draw_ns_ = now_ns;
  if (quiet_) return;
  const double per_second = static_cast<double>(done) / std::max(1e-9, static_cast<double>(now_ns - start_ns_) * 1e-9);
  if (!terminal_) {
    fmt::print(console_.err, "{}: {} of {}\n", label_, done, total_);
    return;
  }
  fmt::print(console_.err, "\r{}\033[K",
             progress_line(label_, done, total_, per_second, terminal_width(console_.err), note ? note() : ""));
  std::fflush(console_.err);
}

}  // namespace forebay
