#include "cluster/rendezvous.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/hash.h"
#include "base/mutex.h"
#include "base/stoppable_cond_var.h"
#include "cluster/address.h"
#include "cluster/token.h"
#include "telemetry/log.h"

namespace forebay {

namespace {

constexpr size_t kMostCardBytes = 1024;
constexpr std::string_view kCardMagic = "forebay-host-1";
constexpr std::chrono::milliseconds kBetweenQuestions(1000), kPatience(300), kSilent(10'000);

class StaticRendezvous final : public Rendezvous {
 public:
  StaticRendezvous(std::vector<std::string> addresses, const std::string& token, uint64_t generation) {
    members_.generation = generation;
    for (std::string& address : addresses) members_.hosts.push_back({std::move(address), 0, token});
  }
  Result<Membership> meet(int, const HostCard&, std::chrono::milliseconds, std::stop_token) override {
    return members_;
  }

 private:
  Membership members_;
};

Status folder_failure(const std::string& path, const char* what) {
  return unavailable(fmt::format("cannot {} {}: {}", what, path, std::generic_category().message(errno)));
}

struct SmallFile {
  std::string text;
  timespec written{};  // by the file system's clock: hosts' own clocks differ
};

bool earlier(const timespec& a, const timespec& b) {
  return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

// Reads a small file. Returns nothing if it does not exist yet.
Result<std::optional<SmallFile>> read_small(const std::string& path, uid_t owner) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return errno == ENOENT ? Result<std::optional<SmallFile>>(std::nullopt) : folder_failure(path, "read");
  // A card of another user in a shared folder could make this rank take data from a foreign host.
  struct ::stat info{};
  if (::fstat(fd, &info) == 0 && info.st_uid != owner) {
    ::close(fd);
    return invalid_argument(fmt::format("{} is another user's: give a folder that only your job writes to", path));
  }
  std::string text(kMostCardBytes + 1, '\0');
  const ssize_t got = ::read(fd, text.data(), text.size());
  const Status failure = got < 0 ? folder_failure(path, "read") : Status();
  ::close(fd);
  if (!failure.ok()) return failure;
  text.resize(static_cast<size_t>(got));
  return std::optional(SmallFile{std::move(text), info.st_mtim});
}

// The file appears complete or not at all, even after a crash.
Status write_small(const std::string& path, const std::string& text) {
  // Hosts that share the folder may have the same pid but never the same rank, which is part of
  // `path`.
  const std::string beside = fmt::format("{}.{}.tmp", path, ::getpid());
  const int fd = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return folder_failure(beside, "write");
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(fd) == 0;
  const Status failure = written ? Status() : folder_failure(beside, "write");
  ::close(fd);
  if (failure.ok() && ::rename(beside.c_str(), path.c_str()) == 0) return {};
  const Status renamed = failure.ok() ? folder_failure(path, "write") : failure;
  ::unlink(beside.c_str());
  return renamed;
}

class FolderRendezvous final : public Rendezvous {
 public:
  FolderRendezvous(std::string folder, int hosts, uint64_t generation, int meeting, const std::string& job)
      : folder_(std::move(folder)), hosts_(hosts), generation_(generation), meeting_(meeting),
        job_(job.empty() ? "" : hash128(job).to_string().substr(0, 16) + "-") {}

  Result<Membership> meet(int rank, const HostCard& card, std::chrono::milliseconds deadline,
                          std::stop_token stop) override {
    const auto begun = std::chrono::steady_clock::now(), until = begun + deadline, doubts_until = begun + deadline / 4;
    auto next_question = begun + kBetweenQuestions;
    bool told = false;
    if (::mkdir(folder_.c_str(), 0700) != 0 && errno != EEXIST) return folder_failure(folder_, "make the folder");
    FOREBAY_RETURN_IF_ERROR(write_small(path_of(rank), card_text(card)));
    // The owner as the file system reports it: a network file system may map this user to another.
    struct ::stat own{};
    if (::stat(path_of(rank).c_str(), &own) != 0) return folder_failure(path_of(rank), "read");
    std::vector<std::optional<Seen>> cards(static_cast<size_t>(hosts_));
    // This rank's own card comes from memory: the file may be of an earlier start of this rank.
    cards[static_cast<size_t>(rank)] = Seen{card, false};
    Mutex mutex;
    StoppableCondVar pause;
    for (auto wait = std::chrono::milliseconds(2);; wait = std::min(2 * wait, std::chrono::milliseconds(100))) {
      // Polled, because shared file systems do not report changes made by other hosts.
      FOREBAY_ASSIGN(const bool news, read_doubtful(cards, own));
      // A new host sees by this that the card belongs to a running host. Written once all cards are
      // there, because every host looks at them then.
      const bool all_there = std::ranges::all_of(cards, [](const auto& each) { return each.has_value(); });
      if (news && all_there) FOREBAY_RETURN_IF_ERROR(write_small(path_of(rank), card_text(card)));
      const auto now = std::chrono::steady_clock::now();
      if (all_there && now >= next_question) {
        ask_the_doubtful(cards);
        next_question = std::chrono::steady_clock::now() + kBetweenQuestions;
      }
      const bool doubts = now < doubts_until;
      if (all_there && std::ranges::none_of(cards, [&](const auto& each) { return each->doubtful && doubts; })) break;
      if (stop.stop_requested()) return cancelled("stopped while waiting for the other hosts of the job");
      if (now >= until) return missing(cards, deadline);
      if (!told && now >= begun + kSilent) {
        log_warning(still_waiting(cards, deadline));
        told = true;
      }
      Lock lock(mutex);
      pause.wait_for(lock, stop, wait, [] { return false; });
    }
    Membership members{generation_, {}};
    for (auto& each : cards) members.hosts.push_back(std::move(each->card));
    return members;
  }

 private:
  struct Seen {
    HostCard card;
    // The card is older than this host's own: it may be of an earlier run whose host is gone.
    bool doubtful = false;
  };

  std::string path_of(int rank) const {
    const std::string first = fmt::format("{}/host-{}{}-{}", folder_, job_, generation_, rank);
    return meeting_ == 0 ? first : fmt::format("{}-meeting-{}", first, meeting_);
  }

  // Reads the cards that are missing or may be of an earlier run. Returns whether any is new.
  Result<bool> read_doubtful(std::vector<std::optional<Seen>>& cards, const struct ::stat& own) const {
    bool news = false;
    for (size_t i = 0; i < cards.size(); ++i) {
      if (cards[i] && !cards[i]->doubtful) continue;
      FOREBAY_ASSIGN(const std::optional<SmallFile> file, read_small(path_of(static_cast<int>(i)), own.st_uid));
      if (!file) continue;
      Result<HostCard> card = parse_card(file->text);
      if (!card.ok()) return card.status().with_key(path_of(static_cast<int>(i)));
      news = news || !cards[i] || cards[i]->card.token != card->token;
      cards[i] = Seen{std::move(*card), earlier(file->written, own.st_mtim)};
    }
    return news;
  }

  // A host that has met the others before writes no more cards, but it listens; hosts of an earlier
  // run do not. The first host that does not listen ends the search, since it must be waited for
  // anyway.
  static void ask_the_doubtful(std::vector<std::optional<Seen>>& cards) {
    for (auto& each : cards) {
      if (!each || !each->doubtful) continue;
      const Result<HostPort> at = parse_host_port(each->card.address);
      each->doubtful = !at.ok() || !somebody_listens(*at, kPatience);
      if (each->doubtful) return;
    }
  }

  // Lists the ranks for which `is` holds, such as "1, 4 and 7 others".
  template <typename Is>
  static std::string ranks_that(const std::vector<std::optional<Seen>>& cards, Is is) {
    std::vector<size_t> ranks;
    size_t others = 0;
    for (size_t i = 0; i < cards.size(); ++i) {
      if (!is(cards[i])) continue;
      if (ranks.size() < 10)
        ranks.push_back(i);
      else
        ++others;
    }
    return fmt::format("{}{}", fmt::join(ranks, ", "), others > 0 ? fmt::format(" and {} others", others) : "");
  }

  static std::string those_missing(const std::vector<std::optional<Seen>>& cards) {
    return ranks_that(cards, [](const auto& card) { return !card.has_value(); });
  }

  Status missing(const std::vector<std::optional<Seen>>& cards, std::chrono::milliseconds deadline) const {
    return unavailable(
        fmt::format("the hosts of the job meet in {}, and after {} s of {} ranks {} had not come; do all of them see "
                    "this folder, and open this loader?",
                    folder_, deadline.count() / 1000, cards.size(), those_missing(cards)));
  }

  std::string still_waiting(const std::vector<std::optional<Seen>>& cards, std::chrono::milliseconds deadline) const {
    const std::string absent = those_missing(cards);
    if (!absent.empty())
      return fmt::format(
          "peers: still waiting in {} for ranks {} of {}, for {} s at most; every rank has to open this loader",
          folder_, absent, cards.size(), deadline.count() / 1000);
    const std::string gone = ranks_that(cards, [](const auto& card) { return card && card->doubtful; });
    return fmt::format(
        "peers: nobody listens where the files in {} say that ranks {} are, which may be of an earlier run; still "
        "waiting for them, for {} s at most",
        folder_, gone, deadline.count() / 4000);
  }

  const std::string folder_;
  const int hosts_;
  const uint64_t generation_;
  const int meeting_;
  // A hash, for file names: launchers may use any text to name a job.
  const std::string job_;
};

}  // namespace

std::vector<PeerHost> Membership::peers() const {
  std::vector<PeerHost> all;
  for (const HostCard& host : hosts) all.push_back({host.address, {host.token, generation}});
  return all;
}

std::string card_text(const HostCard& card) {
  return fmt::format("{} {} {} {}\n", kCardMagic, card.address, card.incarnation, card.token);
}

Result<HostCard> parse_card(std::string_view text) {
  const auto wrong = [] { return corrupt("not what a host of a job tells of itself"); };
  if (text.size() > kMostCardBytes || !text.ends_with('\n')) return wrong();
  std::istringstream words{std::string(text)};
  HostCard card;
  std::string magic, more;
  if (!(words >> magic >> card.address >> card.incarnation >> card.token) || magic != kCardMagic || words >> more)
    return wrong();
  if (!parse_host_port(card.address).ok() || !check_token(card.token).ok()) return wrong();
  return card;
}

std::unique_ptr<Rendezvous> static_rendezvous(std::vector<std::string> addresses, std::string token,
                                              uint64_t generation) {
  return std::make_unique<StaticRendezvous>(std::move(addresses), token, generation);
}

std::unique_ptr<Rendezvous> folder_rendezvous(std::string folder, int hosts, uint64_t generation, int meeting,
                                              const std::string& job) {
  return std::make_unique<FolderRendezvous>(std::move(folder), hosts, generation, meeting, job);
}

}  // namespace forebay
