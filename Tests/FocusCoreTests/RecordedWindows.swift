/// A window as somebody saw it, and the desktop file of its app.
struct RecordedWindow {
    var appID: String?
    var gtk: String?
    var instance: String?
    var windowClass: String?
    /// The id of the desktop file; empty: its program has none among those of `DebianDesktopFiles`.
    var file: String
    var source: String

    /// Of Wayland.
    private init(_ appID: String, _ file: String, _ source: String) {
        (self.appID, self.file, self.source) = (appID, file, source)
    }

    /// Of X11.
    private init(_ instance: String?, _ windowClass: String, gtk: String? = nil, _ file: String, _ source: String) {
        (self.instance, self.windowClass, self.gtk, self.file, self.source) = (
            instance, windowClass, gtk, file, source
        )
    }

    /// Written down before the mapping was tried, whatever came of it. Where a rule names one part of `WM_CLASS`, only that
    /// is known.
    static let all: [RecordedWindow] = [
        // Run for this table, under Xvfb with openbox; xprop said so.
        .init("xterm", "XTerm", "debian-xterm", Self.xvfb),
        .init("xterm", "UXTerm", "debian-uxterm", Self.xvfb),
        .init("mousepad", "Mousepad", gtk: "org.xfce.mousepad", "org.xfce.mousepad", Self.xvfb),
        .init("galculator", "Galculator", "galculator", Self.xvfb),
        .init("l3afpad", "L3afpad", "l3afpad", Self.xvfb),
        .init("pcmanfm", "Pcmanfm", "pcmanfm", Self.xvfb),
        .init("lxterminal", "Lxterminal", "lxterminal", Self.xvfb),
        .init("xfce4-terminal", "Xfce4-terminal", "xfce4-terminal", Self.xvfb),
        .init("org.pwmt.zathura", "Zathura", "org.pwmt.zathura", Self.xvfb),
        .init("feh", "feh", "feh", Self.xvfb),
        .init(
            "gnome-calculator", "gnome-calculator", gtk: "org.gnome.Calculator", "org.gnome.Calculator", Self.xvfb),
        .init("qterminal", "qterminal", "qterminal", Self.xvfb),
        .init("featherpad", "FeatherPad", "featherpad", Self.xvfb),
        .init("gedit", "Gedit", gtk: "org.gnome.gedit", "org.gnome.gedit", Self.xvfb),
        .init("geany", "Geany", "geany", Self.xvfb),
        .init("gvim", "Gvim", "gvim", Self.xvfb),
        .init("!listedtoplevel", "Toplevel", "idle-python3.11", Self.xvfb),
        .init("xarchiver", "Xarchiver", "xarchiver", Self.xvfb),
        .init("gpicview", "Gpicview", "gpicview", Self.xvfb),
        .init("xgps", "Xgps", "xgps", Self.xvfb),
        // Programs without a desktop file, and windows that were given a name of their own.
        .init("xeyes", "XEyes", "", Self.xvfb),
        .init("xclock", "XClock", "", Self.xvfb),
        .init("xcalc", "XCalc", "", Self.xvfb),
        .init("xedit", "Xedit", "", Self.xvfb),
        .init("xfontsel", "XFontSel", "", Self.xvfb),
        .init("tk", "Tk", "", Self.xvfb),
        .init("odd", "Odd", "", Self.xvfb),
        // Run for this table, under sway; swaymsg -t get_tree said so.
        .init("foot", "foot", Self.sway),
        .init("odd", "", Self.sway),
        .init("mousepad", "org.xfce.mousepad", Self.sway),
        .init("galculator", "galculator", Self.sway),
        .init("l3afpad", "l3afpad", Self.sway),
        .init("org.gnome.Calculator", "org.gnome.Calculator", Self.sway),
        .init("gedit", "org.gnome.gedit", Self.sway),
        .init("lxterminal", "lxterminal", Self.sway),
        .init("xfce4-terminal", "xfce4-terminal", Self.sway),
        .init("org.pwmt.zathura", "org.pwmt.zathura", Self.sway),
        .init("geany", "geany", Self.sway),
        // Rules for windows that people publish.
        .init("gnome-terminal-server", "Gnome-terminal", "org.gnome.Terminal", "nik123/cheatsheets i3wm.md"),
        .init(nil, "chromium", "chromium", Self.fa7ad),
        .init(nil, "Chromium", "chromium", Self.fa7ad),
        .init(nil, "konsole", "org.kde.konsole", Self.fa7ad),
        .init(nil, "URxvt", "rxvt-unicode", Self.fa7ad),
        .init(nil, "Tilix", "com.gexperts.Tilix", Self.fa7ad),
        .init(nil, "dolphin", "org.kde.dolphin", Self.fa7ad),
        .init(nil, "Gimp-2.10", "gimp", Self.fa7ad),
        .init(nil, "okular", "org.kde.okular", Self.fa7ad),
        .init(nil, "Lollypop", "org.gnome.Lollypop", Self.fa7ad),
        .init(nil, "mpv", "mpv", Self.fa7ad),
        .init(nil, "kcalc", "org.kde.kcalc", Self.fa7ad),
        .init(nil, "vlc", "vlc", Self.fa7ad),
        .init(nil, "Subl3", "", Self.fa7ad),
        .init(nil, "jetbrains-studio", "", Self.fa7ad),
        .init(nil, "Blueman-adapters", "blueman-adapters", Self.rkernan),
        .init(nil, "Blueman-manager", "blueman-manager", Self.rkernan),
        .init(nil, "Nm-connection-editor", "nm-connection-editor", Self.rkernan),
        .init(nil, "Pavucontrol", "pavucontrol", Self.rkernan),
        .init(nil, "KeePass2", "", Self.rkernan),
        .init(nil, "Gnome-calculator", "org.gnome.Calculator", Self.ivanov),
        .init(nil, "Gimp", "gimp", Self.ivanov),
        .init(nil, "Cheese", "org.gnome.Cheese", Self.ivanov),
        .init(nil, "Qalculate-gtk", "qalculate-gtk", Self.ivanov),
        .init(nil, "Vlc", "vlc", Self.ivanov),
        .init(nil, "battle.net.exe", "", Self.ivanov),
        .init(nil, "Wine", "", Self.ivanov),
        .init(nil, "Gnome-control-center", "org.gnome.Settings", Self.gashko),
        .init(nil, "Gnome-system-monitor", "gnome-system-monitor", Self.gashko),
        .init(nil, "flameshot", "org.flameshot.Flameshot", Self.gashko),
        .init(nil, "Slack", "", Self.gashko),
        .init(
            nil, "qBittorrent", "org.qbittorrent.qBittorrent", "kheaactua/dotfiles stow/i3/.config/i3/1-host-khea.i3"),
        .init(nil, "org.gnome.Nautilus", "org.gnome.Nautilus", Self.daru),
        .init(nil, "copyq", "com.github.hluk.copyq", Self.daru),
        .init(nil, "com.github.hluk.copyq", "com.github.hluk.copyq", Self.daru),
        .init("org.telegram.desktop", "org.telegram.desktop", Self.percygt),
        .init("org.gnome.Calendar", "org.gnome.Calendar", Self.percygt),
        .init("org.keepassxc.KeePassXC", "org.keepassxc.KeePassXC", Self.percygt),
        .init("com.github.johnfactotum.Foliate", "com.github.johnfactotum.Foliate", Self.percygt),
        .init("qalculate-gtk", "qalculate-gtk", Self.percygt),
        .init("pavucontrol", "pavucontrol", Self.percygt),
        .init("wpa_gui", "", Self.percygt),
        .init("blueman-manager", "blueman-manager", Self.satow),
        .init("nm-applet", "nm-applet", Self.satow),
        .init("nm-connection-editor", "nm-connection-editor", Self.satow),
        .init("thunar", "thunar", Self.javigomezo),
        .init("file-roller", "org.gnome.FileRoller", Self.javigomezo),
        .init("Spotify", "", "shampoojr/.dotfiles home-manager/hyprland/hypr/configs/windowrule.nix"),
        // Maps and lists of windows that programs and people wrote down.
        .init("nautilus", "Nautilus", "org.gnome.Nautilus", Self.lwsm),
        .init("org.gnome.Nautilus", "Org.gnome.Nautilus", "org.gnome.Nautilus", Self.lwsm),
        .init("Mail", "Thunderbird", "thunderbird", Self.lwsm),
        .init("telegram-desktop", "TelegramDesktop", "org.telegram.desktop", Self.lwsm),
        .init("Telegram", "TelegramDesktop", "org.telegram.desktop", Self.lwsm),
        .init("sun-awt-X11-XFramePeer", "jetbrains-idea", "", Self.lwsm),
        .init("electron", "Electron", "", Self.lwsm),
        .init("emacs", "Emacs", "emacs", "jordansissel/xdotool#22"),
        .init("urxvt", "URxvt", "rxvt-unicode", "jordansissel/xdotool#22"),
        .init("urxvt-256color", "URxvt", "rxvt-unicode", "jordansissel/xdotool#22"),
        .init("skype", "Skype", "", "jordansissel/xdotool#22"),
        // Reports that a window was not known by its desktop file.
        .init("keepassxc", "keepassxc", "org.keepassxc.KeePassXC", "keepassxreboot/keepassxc#1144"),
        .init(nil, "antimicrox", "io.github.antimicrox.antimicrox", "AntiMicroX/antimicrox#1177"),
        .init("org.openscad.openscad", "openscad", "openscad/openscad#4910"),
        .init(nil, "Nemo", "nemo", "linuxmint/nemo#3598"),
        .init("pcmanfm-qt", "pcmanfm-qt", "lxqt/pcmanfm-qt#2158"),
        .init("claude", "Claude", "", "aaddrick/claude-desktop-debian#652"),
        .init("com.mattjakeman.ExtensionManager", "", "pkgforge-dev/Anylinux-AppImages#169"),
    ]

    private static let xvfb = "run under Xvfb on Debian 12, 23 November 2026"
    private static let sway = "run under sway 1.7 on Debian 12, 23 November 2026"
    private static let fa7ad = "fa7ad/myconfig config/i3/_includes/22-windows.i3"
    private static let rkernan = "rkernan/dotfiles awesome/.config/awesome/rules.lua"
    private static let ivanov = "d-k-ivanov/awesomewm-conf rules.lua, include/rules.lua"
    private static let gashko = "DimaGashko/linux config/i3/i3.d/windows.i3"
    private static let daru = "Daru-san/SnowyDots modules/home/desktop/xsession/i3wm/windows.nix"
    private static let percygt = "percygt/nix-dots config/desktop/sway/window.nix"
    private static let satow = "DylanSatow/nix-config home/hyprland/windowrules.nix"
    private static let javigomezo = "javigomezo/nixos home-manager/desktop/wayland/hyprland/windowrule.nix"
    private static let lwsm = "johannesjo/linux-window-session-manager, its default configuration"
}
