#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/hash.h"
#include "base/mutex.h"
#include "base/stoppable_cond_var.h"
#include "cluster/address.h"
#include "cluster/card_file.h"
#include "cluster/rendezvous.h"
#include "telemetry/log.h"

namespace forebay {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenProbes(1000), kProbeTimeout(300), kSilent(10'000);

bool earlier(const timespec& a, const timespec& b) {
  return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

/// The files of one meeting in a folder.
struct MeetingFolder {
  std::string path;
  std::string job;  // a hash and "-", or empty: launchers may use any text to name a job
  uint64_t generation = 0;
  int meeting = 0;

  std::string card_path(int rank) const {
    const std::string first = fmt::format("{}/host-{}{}-{}", path, job, generation, rank);
    return meeting == 0 ? first : fmt::format("{}-meeting-{}", first, meeting);
  }
};

/// The wait of one rank, which is one host of the job, for the cards of all ranks. Used by one
/// thread.
class Meeting {
 public:
  Meeting(const MeetingFolder& folder, int hosts, int rank, const HostCard& card, std::chrono::milliseconds deadline)
      : folder_(folder), own_path_(folder.card_path(rank)), own_card_(card), deadline_(deadline),
        doubt_period_(deadline / 4), cards_(static_cast<size_t>(hosts)) {
    // This rank's own card comes from memory: the file may be of an earlier start of this rank.
    cards_[static_cast<size_t>(rank)] = KnownCard{card, false};
  }

  /// Writes this rank's card.
  Status begin() {
    if (::mkdir(folder_.path.c_str(), 0700) != 0 && errno != EEXIST)
      return card_file_failure(folder_.path, "make the folder");
    FOREBAY_RETURN_IF_ERROR(write_card_file(own_path_, card_text(own_card_)));
    // The owner as the file system reports it: a network file system may map this user to another.
    if (::stat(own_path_.c_str(), &own_file_) != 0) return card_file_failure(own_path_, "read");
    return {};
  }

  /// Reads the cards that other ranks have written. Returns whether the meeting is complete.
  /// Unavailable once the deadline has passed.
  Result<bool> poll(const std::stop_token& stop) {
    FOREBAY_ASSIGN(const bool news, read_doubtful());
    // Shows a new host that this card belongs to a running host. Written once all cards are there,
    // because every host reads them then.
    if (news && all_there()) FOREBAY_RETURN_IF_ERROR(write_card_file(own_path_, card_text(own_card_)));
    probe_if_due();
    if (is_complete()) return true;
    if (stop.stop_requested()) return cancelled("stopped while waiting for the other hosts of the job");
    const auto now = Clock::now();
    if (now >= started_ + deadline_) return timed_out();
    warn_if_due(now);
    return false;
  }

  Membership members() && {
    Membership members{folder_.generation, {}};
    for (auto& each : cards_) members.hosts.push_back(std::move(each->card));
    return members;
  }

 private:
  struct KnownCard {
    HostCard card;
    // The card is older than this host's own: it may be of an earlier run whose host is gone.
    bool doubtful = false;
  };
  using Cards = std::vector<std::optional<KnownCard>>;

  bool all_there() const {
    return std::ranges::all_of(cards_, [](const auto& each) { return each.has_value(); });
  }

  // Whether all cards are there, none of which is doubted any more.
  bool is_complete() const {
    if (!all_there()) return false;
    return Clock::now() >= started_ + doubt_period_ ||
           std::ranges::none_of(cards_, [](const auto& each) { return each->doubtful; });
  }

  void probe_if_due() {
    if (!all_there() || Clock::now() < next_probe_) return;
    probe_doubtful();
    next_probe_ = Clock::now() + kBetweenProbes;
  }

  void warn_if_due(Clock::time_point now) {
    if (warned_ || now < started_ + kSilent) return;
    log_warning(still_waiting());
    warned_ = true;
  }

  // Reads the cards that are missing or may be of an earlier run. Returns whether any is new.
  Result<bool> read_doubtful() {
    bool news = false;
    for (size_t i = 0; i < cards_.size(); ++i) {
      if (cards_[i] && !cards_[i]->doubtful) continue;
      const std::string path = folder_.card_path(static_cast<int>(i));
      FOREBAY_ASSIGN(const std::optional<CardFile> file, read_card_file(path, own_file_.st_uid));
      if (!file) continue;
      Result<HostCard> card = parse_card(file->text);
      if (!card.ok()) return card.status().with_key(path);
      news = news || !cards_[i] || cards_[i]->card.token != card->token;
      cards_[i] = KnownCard{std::move(*card), earlier(file->written, own_file_.st_mtim)};
    }
    return news;
  }

  // Checks whether the hosts of doubtful cards listen: hosts of an earlier run do not. Stops at the
  // first host that does not listen, since the meeting is incomplete without it.
  void probe_doubtful() {
    for (auto& each : cards_) {
      if (!each || !each->doubtful) continue;
      const Result<HostPort> at = parse_host_port(each->card.address);
      each->doubtful = !at.ok() || !accepts_connections(*at, kProbeTimeout);
      if (each->doubtful) return;
    }
  }

  // Lists the ranks for which `holds` is true, such as "1, 4 and 7 others".
  template <typename Holds>
  static std::string ranks_where(const Cards& cards, Holds holds) {
    std::vector<size_t> ranks;
    size_t others = 0;
    for (size_t i = 0; i < cards.size(); ++i) {
      if (!holds(cards[i])) continue;
      if (ranks.size() < 10)
        ranks.push_back(i);
      else
        ++others;
    }
    return fmt::format("{}{}", fmt::join(ranks, ", "), others > 0 ? fmt::format(" and {} others", others) : "");
  }

  static std::string missing_ranks(const Cards& cards) {
    return ranks_where(cards, [](const auto& card) { return !card.has_value(); });
  }

  Status timed_out() const {
    return unavailable(
        fmt::format("the hosts of the job meet in {}, and after {} s of {} ranks {} had not come; do all of them see "
                    "this folder, and open this loader?",
                    folder_.path, deadline_.count() / 1000, cards_.size(), missing_ranks(cards_)));
  }

  std::string still_waiting() const {
    const std::string absent = missing_ranks(cards_);
    if (!absent.empty())
      return fmt::format(
          "peers: still waiting in {} for ranks {} of {}, for {} s at most; every rank has to open this loader",
          folder_.path, absent, cards_.size(), deadline_.count() / 1000);
    const std::string gone = ranks_where(cards_, [](const auto& card) { return card && card->doubtful; });
    return fmt::format(
        "peers: nobody listens where the files in {} say that ranks {} are, which may be of an earlier run; still "
        "waiting for them, for {} s at most",
        folder_.path, gone, doubt_period_.count() / 1000);
  }

  const MeetingFolder& folder_;
  const std::string own_path_;
  const HostCard& own_card_;
  const std::chrono::milliseconds deadline_;
  // How long doubtful cards hold up the meeting. Then they are accepted, well before the deadline:
  // a host that is gone only counts as unavailable, while its absence must not end the job.
  const std::chrono::milliseconds doubt_period_;
  const Clock::time_point started_ = Clock::now();
  struct ::stat own_file_{};
  Cards cards_;  ///< by rank
  Clock::time_point next_probe_ = started_ + kBetweenProbes;
  bool warned_ = false;
};

class FolderRendezvous final : public Rendezvous {
 public:
  FolderRendezvous(MeetingFolder folder, int hosts) : folder_(std::move(folder)), hosts_(hosts) {}

  Result<Membership> meet(int rank, const HostCard& card, std::chrono::milliseconds deadline,
                          std::stop_token stop) override {
    Meeting meeting(folder_, hosts_, rank, card, deadline);
    FOREBAY_RETURN_IF_ERROR(meeting.begin());
    Mutex mutex;
    StoppableCondVar pause;
    // Polled, because shared file systems do not report changes made by other hosts.
    for (auto wait = std::chrono::milliseconds(2);; wait = std::min(2 * wait, std::chrono::milliseconds(100))) {
      FOREBAY_ASSIGN(const bool complete, meeting.poll(stop));
      if (complete) return std::move(meeting).members();
      Lock lock(mutex);
      pause.wait_for(lock, stop, wait, [] { return false; });
    }
  }

 private:
  const MeetingFolder folder_;
  const int hosts_;
};

}  // namespace

std::unique_ptr<Rendezvous> folder_rendezvous(std::string folder, int hosts, uint64_t generation, int meeting,
                                              const std::string& job) {
  const std::string prefix = job.empty() ? "" : hash128(job).to_string().substr(0, 16) + "-";
  return std::make_unique<FolderRendezvous>(MeetingFolder{std::move(folder), prefix, generation, meeting}, hosts);
}

}  // namespace forebay
