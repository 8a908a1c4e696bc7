import FocusCore

/// What stands in the desktop files of these packages of Debian 12, as far as windows are known by it: ids, programs, and keys
/// that are set. They were read from the packages on 23 November 2026.
enum DebianDesktopFiles {
    /// All of them, as they would be installed together.
    static var files: DesktopFiles {
        var files = DesktopFiles()
        for line in self.text.split(separator: "\n") where !line.hasPrefix("#") {
            let fields = line.split(separator: "|")
            let keys = fields.dropFirst().map { $0 + "\n" }.joined()
            files.add("\(fields[0]).desktop", Array("[Desktop Entry]\nType=Application\n\(keys)".utf8))
        }
        return files
    }

    private static let text = #"""
        # alacritty 0.11.0-4
        Alacritty|Exec=alacritty|StartupWMClass=Alacritty
        # antimicro 3.1.4-1
        io.github.antimicrox.antimicrox|Exec=antimicrox %f
        # arduino 2:1.8.19+dfsg1-1
        arduino|Exec=/usr/bin/arduino %f|StartupWMClass=processing-app-Base
        # ark 4:22.12.3-1+deb12u1
        org.kde.ark|Exec=ark %U|StartupWMClass=ark
        # atril 1.26.0-2+deb12u4
        atril|Exec=atril %U
        # audacity 3.2.4+dfsg-1
        audacity|Exec=env GDK_BACKEND=x11 audacity %F|StartupWMClass=Audacity
        # baobab 43.0-1
        org.gnome.baobab|Exec=baobab %U|DBusActivatable=true
        # blueman 2.3.5-2+b1
        blueman-adapters|Exec=blueman-adapters
        blueman-manager|Exec=blueman-manager
        # caja 1.26.1-1+deb12u1
        caja|Exec=/usr/bin/caja|NoDisplay=true
        caja-autorun-software|Exec=/usr/bin/caja-autorun-software %u|NoDisplay=true
        caja-browser|Exec=/usr/bin/caja --no-desktop --browser %U
        caja-computer|Exec=/usr/bin/caja --no-desktop computer:|NoDisplay=true
        caja-file-management-properties|Exec=/usr/bin/caja-file-management-properties
        caja-folder-handler|Exec=/usr/bin/caja --no-desktop %U|NoDisplay=true
        caja-home|Exec=/usr/bin/caja --no-desktop|NoDisplay=true
        mate-network-scheme|Exec=/usr/bin/caja --no-desktop network:|NoDisplay=true
        # calibre 6.13.0+repack-2+deb12u10
        calibre-ebook-edit|Exec=ebook-edit %f
        calibre-ebook-viewer|Exec=ebook-viewer %f
        calibre-gui|Exec=calibre %U
        calibre-lrfviewer|Exec=lrfviewer %f
        # cheese 43.0-1
        org.gnome.Cheese|Exec=cheese|DBusActivatable=true
        # chromium 156.0.8078.79-1~deb12u1
        chromium|Exec=/usr/bin/chromium %U|StartupWMClass=chromium
        # copyq 6.4.0-1
        com.github.hluk.copyq|Exec=copyq --start-server show
        # darktable 4.2.1-4
        org.darktable.darktable|Exec=/usr/bin/darktable %U|StartupWMClass=darktable
        # dconf-editor 43.0-1
        ca.desrt.dconf-editor|Exec=dconf-editor|DBusActivatable=true
        # deluge-gtk 2.0.3-4
        deluge|Exec=deluge-gtk %U|StartupWMClass=deluge
        # dino-im 0.4.2-1
        im.dino.Dino|Exec=dino-im %U
        # dolphin 4:22.12.3-1
        org.kde.dolphin|Exec=dolphin %u|StartupWMClass=dolphin
        # easyeffects 7.0.0-1
        com.github.wwmm.easyeffects|Exec=easyeffects|DBusActivatable=true
        # emacs-common 1:28.2+1-15+deb12u4
        emacs-mail|Exec=emacs -f message-mailto %u|NoDisplay=true
        emacsclient|Exec=sh -c "exec emacsclient --create-frame" sh %F|StartupWMClass=Emacs
        emacsclient-mail|Exec=bash -c "exec emacsclient --eval mail" bash %u|NoDisplay=true
        # emacs-gtk 1:28.2+1-15+deb12u4
        emacs|Exec=/usr/bin/emacs %F|StartupWMClass=Emacs
        emacs-term|Exec=/usr/bin/emacs -nw %F|Terminal=true
        # engrampa 1.26.0-1+deb12u2
        engrampa|Exec=engrampa %U
        # eog 43.2-1+deb12u1
        org.gnome.eog|Exec=eog %U
        # eom 1.26.0-2
        eom|Exec=eom %U
        # epiphany-browser 43.1-1
        org.gnome.Epiphany|Exec=epiphany %U
        # evince 43.1-2+deb12u1
        org.gnome.Evince|Exec=evince %U
        org.gnome.Evince-previewer|Exec=evince-previewer %U|NoDisplay=true
        # evolution 3.46.4-2+deb12u1
        org.gnome.Evolution|Exec=evolution %U
        # falkon 22.12.1-2
        org.kde.falkon|Exec=falkon %u|StartupWMClass=Falkon
        # featherpad 1.3.5-1
        featherpad|Exec=featherpad %U
        # feh 3.9.1-2
        feh|Exec=feh %F|NoDisplay=true
        # file-roller 43.0-1
        org.gnome.FileRoller|Exec=file-roller %U
        # filezilla 3.63.0-1+deb12u3
        filezilla|Exec=filezilla
        # firefox-esr 153.7.0esr-1~deb12u1
        firefox-esr|Exec=/usr/lib/firefox-esr/firefox-esr %u|StartupWMClass=firefox-esr
        # flameshot 12.1.0-2
        org.flameshot.Flameshot|Exec=flameshot|StartupWMClass=flameshot
        # foliate 2.6.4-1+dfsg3
        com.github.johnfactotum.Foliate|Exec=com.github.johnfactotum.Foliate %U
        # foot 1.13.1-2+deb12u1
        foot|Exec=foot
        foot-server|Exec=foot --server
        footclient|Exec=footclient
        # galculator 2.1.4-1.2
        galculator|Exec=galculator
        # geany 1.38-1+b1
        geany|Exec=geany %F
        # gedit 44.2-1
        org.gnome.gedit|Exec=gedit %U|DBusActivatable=true
        # gimp 2.10.34-1+deb12u10
        gimp|Exec=gimp-2.10 %U
        # gnome-calculator 1:43.0.1-2
        org.gnome.Calculator|Exec=gnome-calculator
        # gnome-calendar 43.1-2
        org.gnome.Calendar|Exec=gnome-calendar %U|DBusActivatable=true
        # gnome-clocks 43.0-1
        org.gnome.clocks|Exec=gnome-clocks|DBusActivatable=true
        # gnome-control-center 1:43.6-2~deb12u1
        gnome-applications-panel|Exec=gnome-control-center applications|NoDisplay=true
        gnome-background-panel|Exec=gnome-control-center background|NoDisplay=true
        gnome-bluetooth-panel|Exec=gnome-control-center bluetooth|NoDisplay=true
        gnome-camera-panel|Exec=gnome-control-center camera|NoDisplay=true
        gnome-color-panel|Exec=gnome-control-center color|NoDisplay=true
        gnome-datetime-panel|Exec=gnome-control-center datetime|NoDisplay=true
        gnome-default-apps-panel|Exec=gnome-control-center default-apps|NoDisplay=true
        gnome-diagnostics-panel|Exec=gnome-control-center diagnostics|NoDisplay=true
        gnome-display-panel|Exec=gnome-control-center display|NoDisplay=true
        gnome-firmware-security-panel|Exec=gnome-control-center firmware-security|NoDisplay=true
        gnome-info-overview-panel|Exec=gnome-control-center info-overview|NoDisplay=true
        gnome-keyboard-panel|Exec=gnome-control-center keyboard|NoDisplay=true
        gnome-location-panel|Exec=gnome-control-center location|NoDisplay=true
        gnome-microphone-panel|Exec=gnome-control-center microphone|NoDisplay=true
        gnome-mouse-panel|Exec=gnome-control-center mouse|NoDisplay=true
        gnome-multitasking-panel|Exec=gnome-control-center multitasking|NoDisplay=true
        gnome-network-panel|Exec=gnome-control-center network|NoDisplay=true
        gnome-notifications-panel|Exec=gnome-control-center notifications|NoDisplay=true
        gnome-online-accounts-panel|Exec=gnome-control-center online-accounts|NoDisplay=true
        gnome-power-panel|Exec=gnome-control-center power|NoDisplay=true
        gnome-printers-panel|Exec=gnome-control-center printers|NoDisplay=true
        gnome-region-panel|Exec=gnome-control-center region|NoDisplay=true
        gnome-removable-media-panel|Exec=gnome-control-center removable-media|NoDisplay=true
        gnome-screen-panel|Exec=gnome-control-center screen|NoDisplay=true
        gnome-search-panel|Exec=gnome-control-center search|NoDisplay=true
        gnome-sharing-panel|Exec=gnome-control-center sharing|NoDisplay=true
        gnome-sound-panel|Exec=gnome-control-center sound|NoDisplay=true
        gnome-thunderbolt-panel|Exec=gnome-control-center thunderbolt|NoDisplay=true
        gnome-universal-access-panel|Exec=gnome-control-center universal-access|NoDisplay=true
        gnome-usage-panel|Exec=gnome-control-center usage|NoDisplay=true
        gnome-user-accounts-panel|Exec=gnome-control-center user-accounts|NoDisplay=true
        gnome-wacom-panel|Exec=gnome-control-center wacom|NoDisplay=true
        gnome-wifi-panel|Exec=gnome-control-center wifi|NoDisplay=true
        gnome-wwan-panel|Exec=gnome-control-center wwan|NoDisplay=true
        org.gnome.Settings|Exec=gnome-control-center
        # gnome-disk-utility 43.0-1
        gnome-disk-image-mounter|Exec=gnome-disk-image-mounter %U|NoDisplay=true
        gnome-disk-image-writer|Exec=gnome-disks --restore-disk-image %U|NoDisplay=true
        org.gnome.DiskUtility|Exec=gnome-disks|DBusActivatable=true
        # gnome-logs 43.0-1
        org.gnome.Logs|Exec=gnome-logs|DBusActivatable=true
        # gnome-maps 43.5-2~deb12u1
        org.gnome.Maps|Exec=gapplication launch org.gnome.Maps %U|DBusActivatable=true
        # gnome-system-monitor 42.0-2
        gnome-system-monitor|Exec=gnome-system-monitor
        gnome-system-monitor-kde|Exec=gnome-system-monitor
        # gnome-terminal 3.46.8-1
        org.gnome.Terminal|Exec=gnome-terminal|StartupWMClass=Gnome-terminal
        org.gnome.Terminal.Preferences|Exec=gnome-terminal --preferences|StartupWMClass=Gnome-terminal-preferences|NoDisplay=true
        # gnome-text-editor 43.2-1
        org.gnome.TextEditor|Exec=gnome-text-editor %U|DBusActivatable=true
        # gnome-tweaks 42~beta-4
        org.gnome.tweaks|Exec=gnome-tweaks|StartupWMClass=gnome-tweaks
        # gnome-weather 43.0-1
        org.gnome.Weather|Exec=gapplication launch org.gnome.Weather|DBusActivatable=true
        # gparted 1.3.1-1
        gparted|Exec=/usr/sbin/gparted %f
        # gpicview 0.2.5-3+b2
        gpicview|Exec=gpicview %f
        # gpsd-clients 3.22-4.1+deb12u1
        xgps|Exec=xgps
        xgpsspeed|Exec=xgpsspeed
        # guake 3.9.0-2
        guake-prefs|Exec=guake -p
        # gucharmap 1:15.0.2-1
        gucharmap|Exec=gucharmap
        # gwenview 4:22.12.3-1
        org.kde.gwenview|Exec=gwenview %U
        org.kde.gwenview_importer|Exec=gwenview_importer %u|StartupWMClass=gwenview|NoDisplay=true
        # hexchat 2.16.1-1+b3
        io.github.Hexchat|Exec=hexchat --existing %U|StartupWMClass=Hexchat
        # idle-python3.11 3.11.2-6+deb12u9
        idle-python3.11|Exec=/usr/bin/idle-python3.11
        # imv 4.3.0-1.1+b3
        imv|Exec=/usr/libexec/imv/imv %F|NoDisplay=true
        imv-folder|Exec=imv-folder %f|NoDisplay=true
        # inkscape 1.2.2-2+deb12u1
        org.inkscape.Inkscape|Exec=inkscape %F
        # kate 4:22.12.3-1
        org.kde.kate|Exec=kate -b %U|StartupWMClass=kate
        # kcalc 4:22.12.3-1
        org.kde.kcalc|Exec=kcalc
        # kdeconnect 22.12.3-1
        org.kde.kdeconnect-settings|Exec=kdeconnect-settings
        org.kde.kdeconnect.app|Exec=kdeconnect-app
        org.kde.kdeconnect.daemon|Exec=/usr/lib/x86_64-linux-gnu/libexec/kdeconnectd|NoDisplay=true
        org.kde.kdeconnect.handler|Exec=kdeconnect-handler %U|NoDisplay=true
        org.kde.kdeconnect.nonplasma|Exec=kdeconnect-indicator
        org.kde.kdeconnect.sms|Exec=kdeconnect-sms
        # keepassxc 2.7.4+dfsg.1-2
        org.keepassxc.KeePassXC|Exec=keepassxc %f|StartupWMClass=keepassxc
        # kitty 0.26.5-5
        kitty|Exec=kitty
        # konsole 4:22.12.3-1+deb12u1
        org.kde.konsole|Exec=konsole|StartupWMClass=konsole
        # krita 1:5.1.5+dfsg-2+deb12u1
        krita_brush|Exec=krita %F|NoDisplay=true
        krita_csv|Exec=krita %F|NoDisplay=true
        krita_exr|Exec=krita %F|NoDisplay=true
        krita_gif|Exec=krita %F|NoDisplay=true
        krita_heif|Exec=krita %F|NoDisplay=true
        krita_heightmap|Exec=krita %F|NoDisplay=true
        krita_jp2|Exec=krita %F|NoDisplay=true
        krita_jpeg|Exec=krita %F|NoDisplay=true
        krita_jxl|Exec=krita %F|NoDisplay=true
        krita_kra|Exec=krita %F|NoDisplay=true
        krita_krz|Exec=krita %F|NoDisplay=true
        krita_ora|Exec=krita %F|NoDisplay=true
        krita_pdf|Exec=krita %F|NoDisplay=true
        krita_png|Exec=krita %F|NoDisplay=true
        krita_psd|Exec=krita %F|NoDisplay=true
        krita_qimageio|Exec=krita %F|NoDisplay=true
        krita_raw|Exec=krita %F|NoDisplay=true
        krita_spriter|Exec=krita %F|NoDisplay=true
        krita_svg|Exec=krita %F|NoDisplay=true
        krita_tga|Exec=krita %F|NoDisplay=true
        krita_tiff|Exec=krita %F|NoDisplay=true
        krita_webp|Exec=krita %F|NoDisplay=true
        krita_xcf|Exec=krita %F|NoDisplay=true
        org.kde.krita|Exec=krita %F|StartupWMClass=krita
        # l3afpad 0.8.18.1.11-4
        l3afpad|Exec=l3afpad %f
        # libreoffice-calc 4:7.4.7-1+deb12u14
        libreoffice-calc|Exec=libreoffice --calc %U|StartupWMClass=libreoffice-calc
        # libreoffice-common 4:7.4.7-1+deb12u14
        libreoffice-startcenter|Exec=libreoffice %U|StartupWMClass=libreoffice-startcenter
        libreoffice-xsltfilter|Exec=libreoffice %U|NoDisplay=true
        # libreoffice-writer 4:7.4.7-1+deb12u14
        libreoffice-writer|Exec=libreoffice --writer %U|StartupWMClass=libreoffice-writer
        # lollypop 1.4.37-1
        org.gnome.Lollypop|Exec=lollypop %U
        # lximage-qt 1.2.0-2
        lximage-qt|Exec=lximage-qt %F
        # lxterminal 0.4.0-2
        lxterminal|Exec=lxterminal
        # mate-terminal 1.26.0-2
        mate-terminal|Exec=mate-terminal
        # meld 3.22.0-2
        org.gnome.Meld|Exec=meld %F
        # mousepad 0.5.10-2
        org.xfce.mousepad|Exec=mousepad %U
        org.xfce.mousepad-settings|Exec=mousepad --preferences
        # mpv 0.35.1-4
        mpv|Exec=mpv --player-operation-mode=pseudo-gui -- %U|StartupWMClass=mpv
        # mumble 1.3.4-4
        mumble|Exec=mumble %u
        # nautilus 43.2-1
        nautilus-autorun-software|Exec=nautilus-autorun-software %u|NoDisplay=true
        org.gnome.Nautilus|Exec=nautilus --new-window %U|DBusActivatable=true
        # nemo 5.6.4-1
        nemo|Exec=nemo %U
        nemo-autorun-software|Exec=nemo-autorun-software %u|NoDisplay=true
        nemo-autostart|Exec=nemo-desktop|NoDisplay=true
        # network-manager-gnome 1.30.0-2
        nm-applet|Exec=nm-applet|NoDisplay=true
        nm-connection-editor|Exec=nm-connection-editor
        # nheko 0.11.3-2
        nheko|Exec=nheko %u|StartupWMClass=nheko
        # obs-studio 29.0.2+dfsg-1+b1
        com.obsproject.Studio|Exec=obs|StartupWMClass=obs
        # okular 4:22.12.3-1+deb12u1
        okularApplication_comicbook|Exec=okular %U|NoDisplay=true
        okularApplication_dvi|Exec=okular %U|NoDisplay=true
        okularApplication_fax|Exec=okular %U|NoDisplay=true
        okularApplication_fb|Exec=okular %U|NoDisplay=true
        okularApplication_ghostview|Exec=okular %U|NoDisplay=true
        okularApplication_kimgio|Exec=okular %U|NoDisplay=true
        okularApplication_mobi|Exec=okular %U|NoDisplay=true
        okularApplication_pdf|Exec=okular %U|NoDisplay=true
        okularApplication_plucker|Exec=okular %U|NoDisplay=true
        okularApplication_txt|Exec=okular %U|NoDisplay=true
        okularApplication_xps|Exec=okular %U|NoDisplay=true
        org.kde.okular|Exec=okular %U|StartupWMClass=okular
        # openbox 3.6.1-10
        openbox|Exec=openbox|NoDisplay=true
        # openscad 2021.01-6
        openscad|Exec=openscad %f
        # pavucontrol 5.0-2
        pavucontrol|Exec=pavucontrol
        # pcmanfm 1.3.2-1
        pcmanfm|Exec=pcmanfm %U
        pcmanfm-desktop-pref|Exec=pcmanfm --desktop-pref
        # pcmanfm-qt 1.2.1-1
        pcmanfm-qt|Exec=pcmanfm-qt %U
        pcmanfm-qt-desktop-pref|Exec=pcmanfm-qt --desktop-pref=general
        # pidgin 2.14.12-1
        pidgin|Exec=pidgin
        # pluma 1.26.0-1+deb12u1
        pluma|Exec=pluma %U
        # python3.11-minimal 3.11.2-6+deb12u9
        python3.11|Exec=/usr/bin/python3.11|NoDisplay=true|Terminal=true
        # qalculate-gtk 4.5.1-1
        qalculate-gtk|Exec=qalculate-gtk|StartupWMClass=qalculate-gtk
        # qbittorrent 4.5.2-3+deb12u1
        org.qbittorrent.qBittorrent|Exec=qbittorrent %U|StartupWMClass=qbittorrent
        # qterminal 1.2.0-2
        qterminal|Exec=qterminal
        qterminal-drop|Exec=qterminal --drop
        # qutebrowser 2.5.3-1
        org.qutebrowser.qutebrowser|Exec=qutebrowser --untrusted-args %u|StartupWMClass=qutebrowser
        # remmina 1.4.29+dfsg-1
        org.remmina.Remmina|Exec=remmina-file-wrapper %U|StartupWMClass=org.remmina.Remmina
        org.remmina.Remmina-file|Exec=remmina-file-wrapper -c %U|NoDisplay=true
        remmina-gnome|Exec=remmina-gnome|NoDisplay=true
        # rhythmbox 3.4.6-2+b1
        org.gnome.Rhythmbox3|Exec=rhythmbox %U
        org.gnome.Rhythmbox3.device|Exec=rhythmbox-client --select-source %U|NoDisplay=true
        # rxvt-unicode 9.30-2+b4
        rxvt-unicode|Exec=urxvt|StartupWMClass=URxvt
        # sakura 3.8.6-1
        sakura|Exec=sakura
        # seahorse 43.0-1
        org.gnome.seahorse.Application|Exec=seahorse %u|DBusActivatable=true
        # simple-scan 42.5-2
        simple-scan|Exec=simple-scan
        # telegram-desktop 4.6.5+ds-2+deb12u1
        org.telegram.desktop|Exec=/usr/bin/telegram-desktop -- %u|StartupWMClass=TelegramDesktop
        # terminator 2.1.2-2
        terminator|Exec=terminator
        # thunar 4.18.4-1
        thunar|Exec=thunar %U
        thunar-bulk-rename|Exec=thunar --bulk-rename %F
        thunar-settings|Exec=thunar-settings
        # thunderbird 1:153.7.0esr-1~deb12u1
        thunderbird|Exec=/usr/bin/thunderbird %u|StartupWMClass=thunderbird-default
        # tilix 1.9.5-2
        com.gexperts.Tilix|Exec=tilix|DBusActivatable=true
        # totem 43.0-2
        org.gnome.Totem|Exec=totem %U|DBusActivatable=true
        # transmission-gtk 3.00-2.1+deb12u1
        transmission-gtk|Exec=transmission-gtk %U
        # transmission-qt 3.00-2.1+deb12u1
        transmission-qt|Exec=transmission-qt %U
        # vim-common 2:9.0.1378-2+deb12u2
        vim|Exec=vim %F|Terminal=true
        # vim-gui-common 2:9.0.1378-2+deb12u2
        gvim|Exec=gvim -f %F
        # virt-manager 1:4.1.0-2
        virt-manager|Exec=virt-manager
        # vlc 3.0.24-0+deb12u1
        vlc|Exec=/usr/bin/vlc --started-from-file %U
        vlc-openbd|Exec=/usr/bin/vlc --started-from-file bluray://%f|NoDisplay=true
        vlc-opencda|Exec=/usr/bin/vlc --started-from-file cdda://%f|NoDisplay=true
        vlc-opendvd|Exec=/usr/bin/vlc --started-from-file dvd://%f|NoDisplay=true
        vlc-openvcd|Exec=/usr/bin/vlc --started-from-file vcd://%f|NoDisplay=true
        # xarchiver 1:0.5.4.20-2
        xarchiver|Exec=xarchiver %f
        # xfce4-taskmanager 1.5.5-1
        xfce4-taskmanager|Exec=xfce4-taskmanager
        # xfce4-terminal 1.0.4-1
        xfce4-terminal|Exec=xfce4-terminal
        xfce4-terminal-settings|Exec=xfce4-terminal --preferences
        # xournalpp 1.1.3-1
        com.github.xournalpp.xournalpp|Exec=xournalpp %f|StartupWMClass=xournalpp
        # xterm 379-1
        debian-uxterm|Exec=uxterm|StartupWMClass=UXTerm
        debian-xterm|Exec=xterm|StartupWMClass=XTerm
        # yelp 42.2-1+deb12u2
        yelp|Exec=yelp %u
        # zathura 0.5.2-1
        org.pwmt.zathura|Exec=zathura %U
        org.pwmt.zathura-pdf-poppler|Exec=zathura %U|NoDisplay=true
        """#
}
